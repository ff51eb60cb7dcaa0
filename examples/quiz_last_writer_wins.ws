# The larger of two numbers, without a race. What can go wrong here, and which operator fixes it?
v = Tensor(Dense(Element(0)), [3, 7])
m = Tensor(Dense(Atomic(0)), 1)
m .= 0
for i = parallel(_)
    m[1] = v[i]
end
return m
