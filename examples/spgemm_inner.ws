# SpGEMM by inner products, from the paper's figure of four SpGEMM kernels: C = A B, given AT = Aᵀ.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
C = Tensor(Dense(Shard(
    dev, SparseList(Element(0.0)))))
C .= 0
for j = parallel(_, dev, sch)
    for i = _
        for k = _
            C[i, j] += AT[k, i] * B[k, j]
return C
