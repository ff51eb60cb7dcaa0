# Mutex gives node and sibling, Isolate gives cousin. Does their order matter?
c = Tensor(Isolate(Mutex(Dense(Element(0)))), 2)
c .= 0
for i = parallel(_)
    c[i] += i
end
return c
