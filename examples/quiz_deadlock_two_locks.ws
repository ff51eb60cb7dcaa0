# Each thread adds to its own column and to the other one, and every column has a lock. What can go wrong here?
C = Tensor(Dense(Mutex(Dense(Element(0)))), 1, 2)
C .= 0
for j = parallel(1:2)
    for i = _
        C[i, j] += 1
        C[i, 3 - j] += 10
    end
end
return C
