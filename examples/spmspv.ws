# SpMSpV, a sparse matrix times a sparse vector, y = A x, from the paper's section on sparse linear algebra.
# Columns of A go to threads and meet in the same elements of y: each thread has a copy of y, merged at the end.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
x = Tensor(SparseList(Element(0.0)))
y = Tensor(Merge(dev, SparseByteMap(Element(0.0))))
y .= 0
for j = parallel(_, dev, sch)
    for i = _
        y[i] += A[i, j] * x[j]
return y
