# Dense MTTKRP by rows, A[i, r] = the sum over k and l of B[i, k, l] C[k, r] D[l, r]. Only B is sparse. All are
# transposed, so that the loop over the rank, r, is innermost and runs over columns. What the elements of a fiber
# of B have in common, C[k, r], is multiplied once for the fiber, whose sum each thread keeps in its own workspace w.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
AT = Tensor(Dense(Dense(Element(0.0))))
BT = Tensor(Dense(SparseList(SparseList(Element(0.0)))))
CT = Tensor(Dense(Dense(Element(0.0))))
DT = Tensor(Dense(Dense(Element(0.0))))
w = Tensor(Dense(Element(0.0)))
AT .= 0
for i = parallel(_, dev, sch)
    for k = _
        w .= 0
        for l = _
            for r = _
                w[r] += BT[l, k, i] * DT[r, l]
        for r = _
            AT[r, i] += w[r] * CT[r, k]
return AT
