"""What other extension modules know of the memory of a run."""

from libc.stdint cimport int64_t, uint64_t

from wingspan.runtime.runtime cimport ws_body, ws_group, ws_run, ws_shape, ws_task


cdef class Memory:
    cdef ws_run state
    cdef ws_group *groups
    cdef ws_shape *shapes
    cdef int64_t count
    cdef bint opened
    cdef ws_task outside  # whoever prepares a run
    cdef list borrowed
    cdef object signal  # what the handler of a signal has raised during the run

    cdef object about(self)
    cdef object drive(self, ws_body body, void *frame, bint in_order, bint yields, uint64_t seed)
