# Floyd and Warshall: the lengths of shortest paths in a graph, in place; W[i, j] is the length of the edge from j to i.
# Round k reads row and column k. Without the conditions it would also update these, with what they hold already: a race.
# Parameters: nt, the number of threads, and sch, the schedule.
dev = cpu(:t, nt)
D = Tensor(Dense(Dense(Element(Inf))))
D .= Inf
for j = _
    for i = _
        D[i, j] = ifelse(i == j, 0.0, ifelse(W[i, j] > 0, W[i, j], Inf))
for k = _
    for j = parallel(_, dev, sch)
        if j != k
            for i = _
                if i != k
                    D[i, j] = min(D[i, j], D[i, k] + D[k, j])
return D
