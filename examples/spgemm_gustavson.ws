# SpGEMM by Gustavson's algorithm, from the paper's figure of four SpGEMM kernels: C = A B, column by column.
# Each thread sums a column in its own workspace w.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
C = Tensor(Dense(Shard(dev,
    SparseList(Element(0.0)))))
w = Tensor(SparseByteMap(Element(0.0)))
C .= 0
for j = parallel(_, dev, sch)
    w .= 0
    for k = _
        for i = _
            w[i] += A[i, k] * B[k, j]
    for i = _
        C[i, j] = w[i]
return C
