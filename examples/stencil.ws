# A stencil on one axis: every element of y is the sum of three neighbours of x, which is 0 beyond its ends.
# Any thread adds elements of its own. Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
x = Tensor(RunList(Element(0)))
y = Tensor(Dense(Element(0)))
y .= 0
for i = parallel(_, dev, sch)
    y[i] = coalesce(x[~(i - 1)], 0) + x[i] + coalesce(x[~(i + 1)], 0)
return y
