cimport cython

from wingspan.explorer._space cimport Space

cdef struct Event:
    int task
    int act
    int earlier       # the event before it of its task, 0 if there is none
    int records       # the number of records of resumed tasks before it
    long races        # the start of its races

cdef struct Record:   # a task continued because its children had ended
    int task
    int earlier       # the record before it of this task, NONE if there is none

cdef enum:
    NONE = -1


@cython.final
cdef class Events:
    cdef Space space
    cdef int count
    cdef Event *event          # from 1 on
    cdef int *clock            # of event i, from i * width on: the last event of each task that happens before it, or is it
    cdef int *race             # for each event, the earlier events with which it races; then 0
    cdef unsigned char *dead   # whether the task has faulted
    cdef Record *record
    cdef int *record_clock
    cdef int records
    cdef int *last             # the last event of each task, 0 if it has none
    cdef int *went_on          # the last record of each task
    cdef int room, width, room_records
    cdef long room_races
    cdef int *scratch
    cdef int *unlocked

    cdef int push(self, long node, long edge) except -1
    cdef int pop(self) noexcept
    cdef bint orders(self, int j, int task) noexcept
    cdef int widen(self, int width) except -1
    cdef long _races_end(self, int i) noexcept
    cdef int _happens(self, int i, int task, int act, int *clock) except -1
    cdef long _add_race(self, long end, int j) except -1
    cdef void _ordered(self, int task, int *clock) noexcept
    cdef void _merge(self, int *clock, int *other) noexcept
    cdef int _resume(self, int resumption) except -1
