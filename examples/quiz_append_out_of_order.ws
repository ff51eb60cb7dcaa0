# One lock protects all of C, so nothing races. What can go wrong all the same, and which word fixes it?
C = Tensor(Mutex(Dense(SparseList(Element(0)))), 1, 2)
C .= 0
for j = parallel(_)
    for i = _
        C[i, j] += j
    end
end
return C
