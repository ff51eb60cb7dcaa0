# SpGEMM by outer products, from the paper's figure of four SpGEMM kernels: C = A B, given BT = Bᵀ.
# Any thread may update any element, so each has a copy of C, and the copies are merged at the end.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
C = Tensor(Merge(dev, SparseDict(
    SparseDict(Element(0.0)))))
C .= 0
for k = parallel(_, dev, sch)
    for j = _
        for i = _
            C[i, j] += A[i, k] * BT[j, k]
return C
