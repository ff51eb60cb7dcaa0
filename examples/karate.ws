# Gustavson's algorithm of the paper's figure of four SpGEMM kernels, on a graph: C = A A for Zachary's karate club.
# C[i, j] counts the members tied to both i and j, so C[i, i] is the number of ties of i.
dev = cpu(:t, 2)
A = Tensor(Dense(SparseList(Element(0.0))), "data/karate.mtx")
B = Tensor(Dense(SparseList(Element(0.0))), "data/karate.mtx")
C = Tensor(Dense(Shard(dev,
    SparseList(Element(0.0)))))
w = Tensor(SparseByteMap(Element(0.0)))
C .= 0
for j = parallel(_, dev, static_schedule())
    w .= 0
    for k = _
        for i = _
            w[i] += A[i, k] * B[k, j]
    for i = _
        C[i, j] = w[i]
return C
