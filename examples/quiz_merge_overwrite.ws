# Each element is set in two loops, by another thread in each. Which value is left when the copies of c are merged?
dev = cpu(:t, 2)
c = Tensor(Merge(dev, Dense(Element(0))), 2)
c .= 0
for i = parallel(_, dev)
    c[i] = i
end
for i = parallel(1:2, dev)
    c[3 - i] = 10 * i
end
return c
