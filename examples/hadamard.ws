# The Hadamard product, C = A B element by element, from the paper's section on sparse linear algebra.
# Columns go to threads, so the sharded sparse list suffices.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
C = Tensor(Dense(Shard(dev, SparseList(Element(0.0)))))
C .= 0
for j = parallel(_, dev, sch)
    for i = _
        C[i, j] = A[i, j] * B[i, j]
return C
