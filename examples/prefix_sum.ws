# Prefix sums of the columns of A. The loop over i reads what its iteration before has written, so it carries a
# dependence and stays serial. Columns do not depend on each other, and go to threads.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
S = Tensor(Dense(Dense(Element(0.0))))
S .= 0
for j = parallel(_, dev, sch)
    for i = _
        S[i, j] = coalesce(S[~(i - 1), j], 0) + A[i, j]
return S
