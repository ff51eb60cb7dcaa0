# Two threads sum a vector. What can go wrong here, and which word fixes it?
v = Tensor(Dense(Element(0)), [10, 20])
s = Tensor(Dense(Element(0)), 1)
s .= 0
for i = parallel(_)
    s[1] += v[i]
end
return s
