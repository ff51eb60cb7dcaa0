# Two tasks add to one sum, whose updates are atomic: none is lost.
v = Tensor(Dense(Element(0)), [3, 4])
s = Tensor(Atomic(0))
s .= 0
for i = parallel(_)
    s[] += v[i]
end
return s
