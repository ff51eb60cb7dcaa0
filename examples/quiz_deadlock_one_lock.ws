# One lock protects all of c. How many threads does it take to wait for ever?
c = Tensor(Mutex(Dense(Element(0))), 2)
c .= 0
for i = parallel(1:2)
    c[i] += 1
    c[3 - i] += 10
end
return c
