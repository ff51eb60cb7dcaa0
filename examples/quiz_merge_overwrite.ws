# Each thread writes an element in its copy of c. What else is in a copy when the copies are merged?
dev = cpu(:t, 2)
c = Tensor(Merge(dev, Dense(Element(0))), 2)
c .= 0
for i = parallel(_, dev)
    c[i] = 10 * i
end
return c
