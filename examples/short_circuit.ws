# In which columns is there an element above 5, and is there one in each? Loops end as soon as the answer is known: a
# short-circuit scalar is left as it is once its operator keeps what it holds, `|` true and `&` false. Each task has a
# scalar of its own, since tasks cannot share one.
A = Tensor(Dense(SparseList(Element(0))), [0 7 2; 9 0 3; 9 8 0])
some = Tensor(Dense(Element(false)), 3)
found = ShortCircuitScalar(false)
every = ShortCircuitScalar(true)
some .= false
every .= true
for j = parallel(_)
    found .= false
    for i = _
        found[] |= A[i, j] > 5
    some[j] = found[]
for j = _
    every[] &= some[j]
return some, every
