dev = cpu(2)
x = Tensor(Dense(Element(0)), [1, 2, 3])
C = Tensor(Dense(Shard(dev, SparseList(Element(0)))), 2, 3)
C .= 0
for j = parallel(_, dev, dynamic_schedule(1))
    C[1, j] += x[j]
end
return C
