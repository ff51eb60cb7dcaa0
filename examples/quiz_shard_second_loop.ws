# An element belongs to the thread that updates it first. For how long?
dev = cpu(:t, 2)
c = Tensor(Dense(Shard(dev, Element(0))), 2)
c .= 0
for k = 1:2
    for j = parallel(_, dev, dynamic_schedule(1))
        c[j] += k
    end
end
return c
