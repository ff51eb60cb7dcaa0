# A stencil on two axes: every element of Y is the sum of five neighbours of a sparse X, which is 0 beyond its borders.
# Any thread adds columns of its own. Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
X = Tensor(Dense(SparseList(Element(0.0))))
Y = Tensor(Dense(Dense(Element(0.0))))
Y .= 0.0
for j = parallel(_, dev, sch)
    for i = _
        Y[i, j] += X[i, j] + coalesce(X[~(i - 1), j], 0.0) + coalesce(X[~(i + 1), j], 0.0)
        Y[i, j] += coalesce(X[i, ~(j - 1)], 0.0) + coalesce(X[i, ~(j + 1)], 0.0)
return Y
