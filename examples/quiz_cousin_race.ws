# Each thread fills columns of its own. Why is that safe over Dense(Dense(…)), and what can go wrong here?
dev = cpu(:t, 2)
C = Tensor(Dense(SparseList(Element(0))), 1, 2)
C .= 0
for j = parallel(_, dev)
    for i = _
        C[i, j] += j
    end
end
return C
