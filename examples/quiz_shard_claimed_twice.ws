# Each thread has a shard of c. Can both update one vector so?
dev = cpu(:t, 2)
c = Tensor(Shard(dev, Dense(Element(0))), 2)
c .= 0
for i = parallel(_, dev)
    c[i] += i
end
return c
