# Seat 1 is free, and whoever sees that takes it. What can go wrong here?
c = Tensor(Dense(Atomic(0)), 1)
c .= 0
free = 1
for i = parallel(1:2)
    if free > 0
        c[free] += 1
        free = 0
    end
end
return c
