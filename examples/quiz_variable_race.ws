# Is c = [10, 20] in the end? Which line is one too many?
c = Tensor(Dense(Element(0)), 2)
c .= 0
r = 0
for i = parallel(_)
    r = 10 * i
    c[i] += r
end
return c
