A = Tensor(SparseList(Element(0)), [0, 2, 0, 3])
B = Tensor(SparseList(Element(0)), [1, 4, 0, 0])
c = Tensor(Element(0))
c .= 0
for i = _
    c[] += A[i] + B[i]
end
return c
