"""Arrays that are lent to a run, as the memory of runs takes them."""

from cpython.buffer cimport Py_buffer
from libc.stdint cimport int64_t, uint64_t

from wingspan.runtime.runtime cimport ws_width

cdef enum:
    INPUTS = 8
    LISTS = 4  # the most lists around a leaf
    USES = 1 + 2 * LISTS


cdef struct Loan:
    int64_t root, number  # the group of a tensor's root, and the buffer
    const void *cells
    uint64_t count
    ws_width width


cdef struct Use:
    bint read  # whether a buffer reads the array
    int64_t root, number
    ws_width width


cdef class Lent:
    cdef readonly tuple shapes
    cdef readonly list values
    cdef readonly object pattern
    cdef list keep
    cdef Loan loans[USES * INPUTS]
    cdef int64_t count

    cdef void add(self, const Use *use, const Py_buffer *view) noexcept
