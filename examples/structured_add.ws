# The structured sum of the paper's section on structured tensors: C = A + B for sparse run-length encoded images.
# Any thread adds columns of its own, and appends them to its own runs.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
A = Tensor(Dense(SparseRunList(Element(0))))
B = Tensor(Dense(SparseRunList(Element(0))))
C = Tensor(Dense(Shard(dev, SparseRunList(Element(0)))))
C .= 0
for j = parallel(_, dev, sch)
    for i = _
        C[i, j] = A[i, j] + B[i, j]
return C
