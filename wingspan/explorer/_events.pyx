"""The events of the current run: which of them happen before which, and which of them race.

An *event* is a step that others can observe, with the invisible steps after it. Events of tasks of which one descends
from the other are ordered, and so is everything that a task does after its children have ended: neither is a race. Of
the events of a lock, a release and the next acquisition are ordered, two acquisitions in a row race.
"""

from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from wingspan.explorer._space cimport CONFLICT, FAULT, LOCKS, ORDER, Move, Space, more


cdef class Events:
    """A run, event by event: `push` and `pop`."""

    def __init__(self, Space space):
        self.space = space
        self.width = 16
        self.room = self.room_records = 64
        self.room_races = 1024
        self.event = <Event *>more(NULL, self.room * sizeof(Event))
        self.record = <Record *>more(NULL, self.room_records * sizeof(Record))
        self.race = <int *>more(NULL, self.room_races * sizeof(int))
        self.widen(16)

    def __dealloc__(self):
        for pointer in (<size_t>self.event, <size_t>self.clock, <size_t>self.race, <size_t>self.dead,
                        <size_t>self.record, <size_t>self.record_clock, <size_t>self.last, <size_t>self.went_on,
                        <size_t>self.scratch, <size_t>self.unlocked):
            free(<void *><size_t>pointer)

    cdef int push(self, long node, long edge) except -1:
        """The event of an edge of a node that has been followed: its clock, and the events that it races with."""
        cdef Move move = self.space.move_of(node, edge)
        cdef int task = move.task, i = self.count + 1
        cdef Event *new
        if self.space.tasks > self.width:
            self.widen(2 * self.space.tasks)
        if i == self.room:
            self.room *= 2
            self.event = <Event *>more(self.event, self.room * sizeof(Event))
            self.clock = <int *>more(self.clock, <long>self.room * self.width * sizeof(int))
        new = &self.event[i]
        new.task, new.act, new.earlier = task, move.act, self.last[task]
        new.records = self.records
        new.races = self._races_end(self.count)
        self._happens(i, task, new.act, self.clock + <long>i * self.width)
        self.clock[<long>i * self.width + task] = i
        self.last[task] = i
        self.count = i
        if self.space.target[edge] == FAULT:
            self.dead[task] = True
        else:
            self._resume(self.space.resumption_of(edge))
        return 0

    cdef int pop(self) noexcept:
        """Undo the newest event: its task."""
        cdef Event *undone = &self.event[self.count]
        self.last[undone.task] = undone.earlier
        self.dead[undone.task] = False
        while self.records > undone.records:
            self.records -= 1
            self.went_on[self.record[self.records].task] = self.record[self.records].earlier
        self.count -= 1
        return undone.task

    cdef bint orders(self, int j, int task) noexcept:
        """Whether event j happens before the next event of a task, whatever that does."""
        self._ordered(task, self.scratch)
        return self.scratch[self.event[j].task] >= j

    cdef long _races_end(self, int i) noexcept:
        """The start of the races after those of event i."""
        cdef long end
        if i == 0:
            return 0
        end = self.event[i].races
        while self.race[end]:
            end += 1
        return end + 1

    cdef int _happens(self, int i, int task, int act, int *clock) except -1:
        """The clock of an event that becomes number i; the events that it races with are stored where event i has them.

        Events are examined from the last on: one that is not in the clock by then is not ordered before it by others.
        """
        cdef Space space = self.space
        cdef int j, other, what
        cdef bint locked = False
        cdef long end = self.event[i].races
        self._ordered(task, clock)
        memcpy(self.unlocked, clock, self.width * sizeof(int))
        for j in range(i - 1, 0, -1):
            other = self.event[j].task
            if other == task:
                continue
            what = space.relation(self.event[j].act, act)
            if not what & CONFLICT:
                continue
            if what & LOCKS and not locked:
                locked = True
                if self.unlocked[other] < j:
                    end = self._add_race(end, j)
            if clock[other] >= j:
                if self.unlocked[other] < j and not what & ORDER:
                    self._merge(self.unlocked, self.clock + <long>j * self.width)
                continue
            if not what & (ORDER | LOCKS):
                end = self._add_race(end, j)
            self._merge(clock, self.clock + <long>j * self.width)
            if not what & ORDER:
                self._merge(self.unlocked, self.clock + <long>j * self.width)
        self._add_race(end, 0)
        return 0

    cdef long _add_race(self, long end, int j) except -1:
        if end == self.room_races:
            self.room_races *= 2
            self.race = <int *>more(self.race, self.room_races * sizeof(int))
        self.race[end] = j
        return end + 1

    cdef void _ordered(self, int task, int *clock) noexcept:
        """What happens before the next event of a task whatever it does."""
        cdef int t
        memset(clock, 0, self.width * sizeof(int))
        for t in range(min(self.width, self.space.tasks)):
            if self.space.related(t, task):
                if self.last[t]:
                    self._merge(clock, self.clock + <long>self.last[t] * self.width)
                if self.went_on[t] != NONE:
                    self._merge(clock, self.record_clock + <long>self.went_on[t] * self.width)

    cdef void _merge(self, int *clock, int *other) noexcept:
        cdef int t
        for t in range(min(self.width, self.space.tasks)):
            if other[t] > clock[t]:
                clock[t] = other[t]

    cdef int _resume(self, int resumption) except -1:
        """Tasks continued after the newest event: their next steps happen after everything that their children did."""
        cdef int task
        for task in self.space.resumptions[resumption]:
            if self.records == self.room_records:
                self.room_records *= 2
                self.record = <Record *>more(self.record, self.room_records * sizeof(Record))
                self.record_clock = <int *>more(
                    self.record_clock, <long>self.room_records * self.width * sizeof(int)
                )
            self._ordered(task, self.record_clock + <long>self.records * self.width)
            self.record[self.records] = Record(task, self.went_on[task])
            self.went_on[task] = self.records
            self.records += 1
        return 0

    cdef int widen(self, int width) except -1:
        """Make room for more tasks."""
        cdef int old = self.width if self.clock != NULL else 0, i, t
        cdef int *clock = <int *>more(NULL, <long>self.room * width * sizeof(int))
        cdef int *records = <int *>more(NULL, <long>self.room_records * width * sizeof(int))
        memset(clock, 0, <long>self.room * width * sizeof(int))
        memset(records, 0, <long>self.room_records * width * sizeof(int))
        if old:
            for i in range(self.count + 1):
                memcpy(clock + <long>i * width, self.clock + <long>i * old, old * sizeof(int))
            for i in range(self.records):
                memcpy(records + <long>i * width, self.record_clock + <long>i * old, old * sizeof(int))
        free(self.clock)
        free(self.record_clock)
        self.clock, self.record_clock, self.width = clock, records, width
        self.last = <int *>more(self.last, width * sizeof(int))
        self.went_on = <int *>more(self.went_on, width * sizeof(int))
        self.dead = <unsigned char *>more(self.dead, width)
        self.scratch = <int *>more(self.scratch, width * sizeof(int))
        self.unlocked = <int *>more(self.unlocked, width * sizeof(int))
        for t in range(old, width):
            self.last[t], self.went_on[t], self.dead[t] = 0, NONE, False
        return 0
