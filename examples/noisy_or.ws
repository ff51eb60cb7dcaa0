# The probability that at least one of its causes brings about an effect: updates by a function with a declared algebra.
# P[j, i] is the probability that cause i alone brings about effect j; what is not stored never does, and is skipped,
# since 0 is the identity. The function is associative and commutative, so tasks may update one element in any order,
# in one atomic step each. `first` has the first cause of each effect by choose(0), which keeps what is not 0.
function either(p, q; associative, commutative, identity = 0, annihilator = 1) = p + q - p * q
P = Tensor(Dense(SparseList(Element(0.0))), [0.5 0.25; 0.0 0.5; 0.75 0.0])
E = Tensor(Dense(Atomic(0.0)), 3)
first = Tensor(Dense(Element(0)), 3)
E .= 0
first .= 0
for i = parallel(_)
    for j = _
        E[j] <<either>>= P[j, i]
for i = _
    for j = _
        first[j] <<choose(0)>>= ifelse(P[j, i] > 0, i, 0)
return E, first
