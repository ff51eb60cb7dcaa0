# Counting on from 5: each thread counts in a copy of c, and the copies are added up. What goes wrong, and how often?
dev = cpu(:t, 2)
c = Tensor(Merge(dev, Dense(Element(5))), 1)
c .= 5
for i = parallel(1:2, dev)
    c[1] += 1
end
return c
