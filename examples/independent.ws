# The independent kernel of the paper's figure of two kernels: no two iterations update the same element of c.
# The definition of c and its declaration are added to make it run.
c = Tensor(Dense(Element(0)), 4)
c .= 0
for i = parallel(_)
    c[i] += 1
end
return c
