# Two sweeps of Jacobi for -x[i-1] + 2 x[i] - x[i+1] = b[i]. Each reads one array and updates another, so all cells go to
# threads. Compare gauss_seidel.ws, which needs one array.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
x = Tensor(Dense(Element(0.0)))
y = Tensor(Dense(Element(0.0)))
x .= 0
y .= 0
for i = parallel(_, dev, sch)
    x[i] = (coalesce(y[~(i - 1)], 0) + coalesce(y[~(i + 1)], 0) + b[i]) / 2
for i = parallel(_, dev, sch)
    y[i] = (coalesce(x[~(i - 1)], 0) + coalesce(x[~(i + 1)], 0) + b[i]) / 2
return y
