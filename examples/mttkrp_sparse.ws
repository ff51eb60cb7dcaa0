# Sparse MTTKRP, A[i, j] = the sum over k and l of B[i, k, l] C[k, j] D[l, j], from the paper's section on sparse
# linear algebra. Every tensor is sparse. BT[k, l, i] = B[i, k, l] is transposed so that every access follows the
# order of the loops and each column of A, a sharded sparse list, is filled in order.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
A = Tensor(Dense(Shard(dev, SparseList(Element(0.0)))))
BT = Tensor(Dense(SparseList(SparseList(Element(0.0)))))
A .= 0
for j = parallel(_, dev, sch)
    for i = _
        for l = _
            for k = _
                A[i, j] += BT[k, l, i] * C[k, j] * D[l, j]
return A
