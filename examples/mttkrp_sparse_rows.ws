# Sparse MTTKRP by rows, A[i, r] = the sum over k and l of B[i, k, l] C[k, r] D[l, r]. Every tensor is sparse, and
# transposed. As in the dense one, a workspace w has the sum of a fiber of B; another one, v, has a row of A.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
AT = Tensor(Dense(Shard(dev, SparseList(Element(0.0)))))
BT = Tensor(Dense(SparseList(SparseList(Element(0.0)))))
v = Tensor(SparseByteMap(Element(0.0)))
w = Tensor(SparseByteMap(Element(0.0)))
AT .= 0
for i = parallel(_, dev, sch)
    v .= 0
    for k = _
        w .= 0
        for l = _
            for r = _
                w[r] += BT[l, k, i] * DT[r, l]
        for r = _
            v[r] += w[r] * CT[r, k]
    for r = _
        AT[r, i] = v[r]
return AT
