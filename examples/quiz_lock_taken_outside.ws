# All of C is under one lock. Who takes it, and where does it belong?
C = Tensor(Mutex(Dense(SparseByteMap(Element(0)))), 2, 1)
C .= 0
for j = _
    for i = parallel(_)
        C[i, j] += i
    end
end
return C
