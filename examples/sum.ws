# Two tasks add to one sum, and an update is lost.
v = Tensor(Dense(Element(0)), [3, 4])
s = Tensor(Element(0))
s .= 0
for i = parallel(_)
    s[] += v[i]
end
return s
