# The first step of Borůvka's algorithm: of each vertex the shortest edge, and the vertex at its other end.
# W[i, j] is the length of the edge between i and j; what is not stored is infinitely long, and is skipped. Tasks take
# columns, so several may find an edge of the same vertex: each is one atomic update of a pair. Of edges that are equally
# long the one to the smaller vertex is kept, in every interleaving.
dev = cpu(:t, 2)
W = Tensor(Dense(SparseList(Element(Inf))), [Inf 1.5 2.0; 1.5 Inf 1.5; 2.0 1.5 Inf])
edge = Tensor(Dense(Atomic((Inf, 0))), 3)
edge .= (Inf, 0)
for j = parallel(_, dev)
    for i = _
        if W[i, j] < Inf
            edge[i] <<minby>>= (W[i, j], j)
return edge
