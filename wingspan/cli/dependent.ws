# The dependent kernel of the paper's figure of two kernels: iterations 2 and 3 update the same element of c.
# As printed, c[i - i % 2] has the subscript 0 at i = 1; indices count from 1, so it is shifted by one here.
c = Tensor(Dense(Element(0)), 5)
c .= 0
for i = parallel(1:4)
    c[i - i % 2 + 1] += 1
end
return c
