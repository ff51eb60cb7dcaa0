# A sweep of Gauss-Seidel in place for -x[i-1] + 2 x[i] - x[i+1] = b[i], in two colours: an odd cell only reads even
# ones, and an even cell odd ones, so the cells of one colour go to threads. In the order 1, 2, 3, … they could not.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
x = Tensor(Dense(Element(0.0)))
x .= 0
for colour = 0:1
    for i = parallel(_, dev, sch)
        if i % 2 == colour
            x[i] = (coalesce(x[~(i - 1)], 0) + coalesce(x[~(i + 1)], 0) + b[i]) / 2
return x
