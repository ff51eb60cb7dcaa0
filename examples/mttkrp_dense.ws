# Dense MTTKRP, A[i, j] = the sum over k and l of B[i, k, l] C[k, j] D[l, j], from the paper's section on sparse
# linear algebra. Only B is sparse. Dense levels bear every parallel access, and no two threads share a column of A.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
A = Tensor(Dense(Dense(Element(0.0))))
B = Tensor(Dense(SparseList(SparseList(Element(0.0)))))
C = Tensor(Dense(Dense(Element(0.0))))
D = Tensor(Dense(Dense(Element(0.0))))
A .= 0
for j = parallel(_, dev, sch)
    for l = _
        for k = _
            for i = _
                A[i, j] += B[i, k, l] * C[k, j] * D[l, j]
return A
