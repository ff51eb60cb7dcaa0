# Integers have 64 bits. From left to right all sums fit, and every update is atomic. What can go wrong here?
dev = cpu(:t, 2)
v = Tensor(Dense(Element(0)), [9223372036854775807, -1, 1, -1])
s = Tensor(Dense(Atomic(0)), 1)
s .= 0
for i = parallel(_, dev)
    s[1] += v[i]
end
return s
