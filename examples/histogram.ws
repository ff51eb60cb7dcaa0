# The RGB histogram of the paper's section on structured tensors: h[r, g, b] counts the pixels of a colour.
# R, G and B are the run-length encoded channels, with values from 0 to n - 1; indices count from 1, hence + 1.
# Any thread may meet any colour, so the whole output is merged.
# Parameters: nt, the number of threads, sch, the schedule, and n, the number of values, 256 in the paper.
dev = cpu(:t, nt)
R = Tensor(RunList(Element(0)))
G = Tensor(RunList(Element(0)))
B = Tensor(RunList(Element(0)))
h = Tensor(Merge(dev, SparseDict(SparseDict(SparseDict(Element(0))))), n, n, n)
h .= 0
for i = parallel(_, dev, sch)
    r = R[i] + 1
    g = G[i] + 1
    b = B[i] + 1
    h[r, g, b] += 1
return h
