# Columns go to the threads of dev1, the elements of a column to those of dev2. What is wrong with the format?
dev1 = cpu(:d1, 2)
dev2 = cpu(:d2, 2)
C = Tensor(Dense(Shard(dev2, Dense(Shard(dev1, Element(0))))), 1, 2)
C .= 0
for j = parallel(_, dev1)
    for i = parallel(_, dev2)
        C[i, j] += i * j
    end
end
return C
