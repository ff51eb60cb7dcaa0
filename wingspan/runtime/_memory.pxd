"""The memory of a run, as other extension modules use it."""

from libc.stdint cimport int64_t, uint64_t

from wingspan.runtime.runtime cimport ws_body, ws_buffer, ws_group, ws_instance, ws_run, ws_shape, ws_task, ws_width


cdef class Piece:
    cdef int64_t root, number, shift
    cdef tuple way
    cdef object array, at
    cdef bint lent
    cdef ws_width width


cdef class Memory:
    cdef ws_run state
    cdef ws_group *groups
    cdef ws_shape *shapes
    cdef int64_t count
    cdef bint opened
    cdef ws_task outside  # for the preparation of a run
    cdef list borrowed
    cdef uint64_t spare  # bytes that are counted as spare
    cdef object signal  # the exception of a signal handler during the run

    cdef bint place(self, Piece piece) except -1
    cdef ws_instance *instance(self, int64_t group, ws_instance *parent, int64_t key) noexcept
    cdef bint fill(self, ws_buffer *b, const void *contents, size_t bytes)
    cdef bint scatter(self, ws_buffer *b, const int64_t[::1] at, const int64_t[::1] values) except -1
    cdef object about(self)
    cdef object drive(self, ws_body body, void *frame, bint in_order, bint yields, uint64_t seed)
