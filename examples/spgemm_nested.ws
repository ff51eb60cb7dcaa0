# SpGEMM with nested parallelism, from the paper's figure of four SpGEMM kernels: Gustavson's algorithm whose
# workspace w is summed by the threads of a second device.
# The printed outer loop names a device `dev` that is defined nowhere; it is dev1.
# Parameters: nt, the number of threads, and sch, the schedule of the outer loop.
dev1 = cpu(:t, isqrt(nt))
dev2 = cpu(:q, isqrt(nt))
C = Tensor(Dense(Shard(dev1,
    SparseList(Element(0.0)))))
w = Tensor(Merge(dev2,
    SparseByteMap(Element(0.0))))
C .= 0
for j = parallel(_, dev1, sch)
    w .= 0
    for k = parallel(_, dev2)
        for i = _
            w[i] += A[i, k] * B[k, j]
    for i = _
        C[i, j] = w[i]
return C
