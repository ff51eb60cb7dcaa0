# The nested inner product of the paper's figure on nested parallelism: C = A B for dense matrices.
# Columns of C are dealt to dev1, the elements of a column to dev2.
dev1 = cpu(:d1, 4)
dev2 = cpu(:d2, 4)
C = Tensor(Dense(Shard(dev1, Dense(Shard(dev2, Element(0.0))))))
A = Tensor(Dense(Dense(Element(0.0))))
B = Tensor(Dense(Dense(Element(0.0))))

C .= 0
for j = parallel(_, dev1, static_schedule())
    for i = parallel(_, dev2, static_schedule())
        for k = _
            C[i, j] += A[i, k] * B[k, j]
        end
    end
end
return C
