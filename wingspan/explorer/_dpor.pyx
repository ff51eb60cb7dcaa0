# cython: boundscheck=False
"""Optimal dynamic partial-order reduction: one run for each way in which the runs of a program really differ.

Two runs are the same *trace* if one comes from the other by swapping neighbouring steps that do not conflict. Source:
Abdulla, Aronis, Jonsson, Sagonas, "Source sets: a foundation for optimal dynamic partial order reduction" (J. ACM 2017),
algorithm 2, with wakeup trees. It walks the nodes of a `Space`, so that going back is free.

What is not in that text:

- An *event* is a step that others can observe, with the private steps after it. Events of tasks of which one descends
  from the other are ordered, and so is all that a task does after its children have ended: neither is a race.
- Of the events of a lock, release and next acquisition are ordered, two acquisitions in a row race. A task that waits
  for a lock when a run has ended races with the acquisition by the holder; without this, deadlocks are lost.
- A step that faults ends its task; the others go on. So a run can have several faults, and none is missed: whatever
  comes after a fault comes about without it, too.
- An event that is moved may do something else: it is what it does at the node where it comes then.
- Parts of the tree may be searched apart (`wingspan.explorer.parts`). A task that others search the runs of *waits*: it
  sleeps, but forbids no run in which it does not come first; so some runs end where all wait. docs/parts.md has the
  proof that no trace is lost.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from wingspan.errors import InternalError
from wingspan.explorer._space cimport BLOCKED, CONFLICT, FAULT, LOCKS, ORDER, Space, more
from wingspan.explorer.parts import Fork, Place


cdef struct Event:
    long node         # where it was executed
    long edge
    int task
    int act
    int earlier       # the event before it of its task, 0 if there is none
    int records       # how many records of resumed tasks there were before it
    long races        # its races are those from here on

cdef struct Frame:
    long node
    int tree          # the first child of its wakeup tree, NONE if there is none
    long asleep       # where its flags start, one for each edge
    bint begun

cdef struct Branch:   # of a wakeup tree
    int task
    int child         # the first one
    int next          # the sibling to the right

cdef struct Record:   # a task went on because its children had ended
    int task
    int earlier       # the record before it of this task, NONE if there is none

cdef struct Move:
    int task
    int act

cdef enum:
    NONE = -1

cdef enum:            # why a task sleeps in a frame
    SLEEPS = 1        # it was TAKEN in an earlier frame, and no event has concerned it since
    WAITS = 2         # likewise of GIVEN
    TAKEN = 3         # the runs in which it goes first here have been explored by this search
    GIVEN = 4         # or are explored by others


cdef class Dpor:
    """The search of all runs, or of a part: `run` to its end, or until the space refuses another node."""

    cdef readonly Space space
    cdef public long executions
    cdef readonly long redundant
    """runs to an end; runs that end where all tasks sleep, of which an undivided search has none"""
    cdef public dict ends
    """in how many executions each node was the last one, also where a task had faulted before"""
    cdef int depth
    cdef tuple shared          # the forks on the way to what this search explores,
    cdef int base              # so many
    cdef bint begun
    cdef Event *event          # from 1 on
    cdef int *clock            # of event i, from i * width on: the last event of each task that happens before it, or is it
    cdef Frame *frame          # frame k is what there is after k events
    cdef int room, width
    cdef Record *record
    cdef int *record_clock
    cdef int records, room_records
    cdef int *last             # the last event of each task, 0 if it has none
    cdef int *went_on          # the last record of each task
    cdef unsigned char *dead   # whether the task has faulted
    cdef int *race             # for each event, with which earlier events it races
    cdef long room_races
    cdef unsigned char *asleep
    cdef long room_asleep
    cdef Branch *branch
    cdef int branches, room_branches, spare
    cdef Move *move
    cdef int *scratch
    cdef int *unlocked

    def __init__(self, Space space):
        self.space = space
        self.ends = {}
        self.shared = ()
        self.width = 16
        self.room = self.room_records = self.room_branches = 64
        self.room_races = self.room_asleep = 1024
        self.event = <Event *>more(NULL, self.room * sizeof(Event))
        self.frame = <Frame *>more(NULL, self.room * sizeof(Frame))
        self.move = <Move *>more(NULL, self.room * sizeof(Move))
        self.record = <Record *>more(NULL, self.room_records * sizeof(Record))
        self.race = <int *>more(NULL, self.room_races * sizeof(int))
        self.asleep = <unsigned char *>more(NULL, self.room_asleep)
        self.branch = <Branch *>more(NULL, self.room_branches * sizeof(Branch))
        self.spare = NONE
        self._widen(16)

    def __dealloc__(self):
        for pointer in (<size_t>self.event, <size_t>self.clock, <size_t>self.frame, <size_t>self.record,
                        <size_t>self.record_clock, <size_t>self.last, <size_t>self.went_on, <size_t>self.dead,
                        <size_t>self.race, <size_t>self.asleep, <size_t>self.branch, <size_t>self.move,
                        <size_t>self.scratch, <size_t>self.unlocked):
            free(<void *><size_t>pointer)

    # --------------------------------------------------------------------------------------------------------- the walk

    def run(self, long most=-1):
        """Explore all traces, or go on for so many runs more: whether that is all."""
        cdef Frame *here
        cdef long last = self.executions + self.redundant + most
        if not self.begun:
            self.take_up(Place())
        while most < 0 or self.executions + self.redundant < last:
            here = &self.frame[self.depth]
            if not here.begun:
                self._begin(here)
                here.begun = True
            if here.tree != NONE:
                self._step(here.tree)
            elif self.depth > self.base:
                self._back()
            else:
                return True
        return False

    def planned(self):
        """How many runs the wakeup trees ask for, beside the one under way."""
        cdef int k, branch, wanted = 0
        for k in range(self.depth + 1):
            branch = self.frame[k].tree
            while branch != NONE:
                branch = self.branch[branch].next
                wanted += branch != NONE
        return wanted

    cdef int _begin(self, Frame *here) except -1:
        """What to do first where no earlier run has left a wish; at the end of a run, find its races."""
        cdef Space space = self.space
        cdef long first = space.node[here.node].first, e, chosen = NONE
        cdef int k, able = 0
        cdef int latest = self.event[self.depth].task if self.depth else NONE
        if here.tree != NONE:
            return 0
        for k in range(space.node[here.node].count):
            e = first + k
            if space.edge[e].target == BLOCKED or self.dead[space.edge[e].task]:
                continue
            able += 1
            if not self.asleep[here.asleep + k] and (chosen == NONE or space.edge[e].task == latest):
                chosen = e
        if chosen != NONE:
            here.tree = self._new_branch(space.edge[chosen].task)
            return 0
        PyErr_CheckSignals()
        self._reverse_races()
        if able:
            self.redundant += 1
        else:
            self.executions += 1
            self.ends[here.node] = self.ends.get(here.node, 0) + 1
        return 0

    cdef int _step(self, int branch) except -1:
        """Execute the first branch of the newest frame's wakeup tree, and enter the frame that it leads to."""
        cdef Space space = self.space
        cdef Frame *here = &self.frame[self.depth]
        cdef int task = self.branch[branch].task
        cdef long edge = space.edge_of(here.node, task), after
        if edge < 0 or space.edge[edge].target == BLOCKED or self.dead[task]:
            raise InternalError(f"task {space.paths[task] or '0'} cannot step where a wakeup tree wants it to")
        if self.asleep[here.asleep + edge - space.node[here.node].first]:
            raise InternalError(f"task {space.paths[task] or '0'} is asleep where a wakeup tree wants it to step")
        after = space.follow(here.node, edge)
        self._push(edge)
        if after == FAULT:
            self.dead[task] = True
        else:
            self._resume(space.edge[edge].resumed)
        self._enter(self.event[self.depth].node if after == FAULT else after, &self.event[self.depth])
        self.frame[self.depth].tree = self.branch[branch].child
        self.branch[branch].child = NONE
        return 0

    cdef int _enter(self, long node, Event *by) except -1:
        """A frame for a node, in which those still sleep who slept before and whom the event does not concern."""
        cdef Space space = self.space
        cdef Frame *above
        cdef long e, k, start = 0
        cdef int count = space.node[node].count, why
        if by != NULL:
            above = &self.frame[self.depth - 1]
            start = above.asleep + space.node[above.node].count
        while start + count > self.room_asleep:
            self.room_asleep *= 2
            self.asleep = <unsigned char *>more(self.asleep, self.room_asleep)
        memset(self.asleep + start, 0, count)
        self.frame[self.depth] = Frame(node, NONE, start, False)
        if by != NULL:
            for k in range(space.node[above.node].count):
                e = space.node[above.node].first + k
                why = self.asleep[above.asleep + k]
                if why and not space.relation(by.act, space.edge[e].act) & CONFLICT:
                    self._sleep(self.depth, space.edge[e].task, WAITS if why in (WAITS, GIVEN) else SLEEPS)
        return 0

    cdef int _sleep(self, int k, int task, int why) except -1:
        """Let a task sleep in frame k."""
        cdef Frame *here = &self.frame[k]
        self.asleep[here.asleep + self._place(here, task)] = why
        return 0

    cdef long _place(self, Frame *here, int task) except -1:
        """Which of the edges of a frame is a task's."""
        cdef long edge = self.space.edge_of(here.node, task)
        if edge < 0:
            raise InternalError(f"task {self.space.paths[task] or '0'} is wanted where it cannot step")
        return edge - self.space.node[here.node].first

    cdef int _back(self) except -1:
        """Leave the newest frame and undo its event, the task of which sleeps from then on."""
        cdef Event *undone = &self.event[self.depth]
        cdef int task = undone.task, k, gone
        self.last[task] = undone.earlier
        self.dead[task] = False
        while self.records > undone.records:
            self.records -= 1
            self.went_on[self.record[self.records].task] = self.record[self.records].earlier
        self.depth -= 1
        gone = self.frame[self.depth].tree
        self.frame[self.depth].tree = self.branch[gone].next
        self.branch[gone].next = self.spare
        self.spare = gone
        return self._sleep(self.depth, task, TAKEN)

    # ------------------------------------------------------------------------------------------------- happens before

    cdef int _push(self, long edge) except -1:
        """The event of an edge of the newest frame: its clock, and the events that it races with."""
        cdef int task = self.space.edge[edge].task, i = self.depth + 1
        cdef Event *new
        if self.space.tasks > self.width:
            self._widen(2 * self.space.tasks)
        if i + 2 > self.room:
            self.room *= 2
            self.event = <Event *>more(self.event, self.room * sizeof(Event))
            self.frame = <Frame *>more(self.frame, self.room * sizeof(Frame))
            self.move = <Move *>more(self.move, self.room * sizeof(Move))
            self.clock = <int *>more(self.clock, <long>self.room * self.width * sizeof(int))
        new = &self.event[i]
        new.node, new.edge = self.frame[self.depth].node, edge
        new.task, new.act, new.earlier = task, self.space.edge[edge].act, self.last[task]
        new.records = self.records
        new.races = self._races_end(self.depth)
        self._happens(i, task, new.act, self.clock + <long>i * self.width)
        self.clock[<long>i * self.width + task] = i
        self.last[task] = i
        self.depth = i
        return 0

    cdef long _races_end(self, int i) noexcept:
        """Where the races after those of event i begin."""
        cdef long end
        if i == 0:
            return 0
        end = self.event[i].races
        while self.race[end]:
            end += 1
        return end + 1

    cdef int _happens(self, int i, int task, int act, int *clock) except -1:
        """The clock of an event that comes as number i; the events that it races with are put where event i has them.

        Events are looked at from the last on: one that is not in the clock by then is not ordered before by others.
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
        """Tasks went on after the newest event: what they do next happens after all that their children did."""
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

    cdef int _widen(self, int width) except -1:
        """Make room for more tasks."""
        cdef int old = self.width if self.clock != NULL else 0, i, t
        cdef int *clock = <int *>more(NULL, <long>self.room * width * sizeof(int))
        cdef int *records = <int *>more(NULL, <long>self.room_records * width * sizeof(int))
        memset(clock, 0, <long>self.room * width * sizeof(int))
        memset(records, 0, <long>self.room_records * width * sizeof(int))
        if old:
            for i in range(self.depth + 1):
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

    # ------------------------------------------------------------------------------------------------- reversing races

    cdef int _reverse_races(self) except -1:
        """At the end of a run: have each race of it run the other way round, unless another run does so anyway."""
        cdef Space space = self.space
        cdef long r, e, node = self.frame[self.depth].node
        cdef int i
        for i in range(1, self.depth + 1):
            r = self.event[i].races
            while self.race[r]:
                self._reverse(self.race[r], self.event[i].task)
                r += 1
        for e in range(space.node[node].first, space.node[node].first + space.node[node].count):
            if space.edge[e].target == BLOCKED and not self.dead[space.edge[e].task]:
                self._acquire_first(space.edge[e].task, space.edge[e].act)
        return 0

    cdef int _acquire_first(self, int task, int act) except -1:
        """Have a task that waits for a lock acquire it before who holds it, unless its earlier steps come after that.

        A failing release in between conflicts with both, and is no reason not to: the task cannot come between them.
        """
        cdef int j = self.depth
        self._ordered(task, self.scratch)
        while j and not self.space.relation(self.event[j].act, act) & LOCKS:
            j -= 1
        if j and self.scratch[self.event[j].task] < j:
            self._reverse(j, task)
        return 0

    cdef int _reverse(self, int j, int task) except -1:
        """Insert into the wakeup tree before event j: what does not happen after j, then the next event of `task`."""
        cdef Space space = self.space
        cdef Frame *before = &self.frame[j - 1]
        cdef long node = before.node, edge
        cdef int k, x, count = 0, other = self.event[j].task
        for k in range(j + 1, self.depth + 1):
            if self.clock[<long>k * self.width + other] >= j:
                continue
            edge = space.edge_of(node, self.event[k].task)
            if edge < 0 or space.edge[edge].act != self.event[k].act or space.edge[edge].target == BLOCKED:
                raise InternalError("an event that does not happen after another depends on it all the same")
            self.move[count] = Move(self.event[k].task, self.event[k].act)
            count += 1
            if space.edge[edge].target != FAULT:
                node = space.follow(node, edge)
            before = &self.frame[j - 1]
        edge = space.edge_of(node, task)
        if edge < 0 or space.edge[edge].target == BLOCKED:
            return 0  # it took the other event to enable this one: the two have one order only
        self.move[count] = Move(task, space.edge[edge].act)
        count += 1
        for k in range(space.node[before.node].count):
            if self.asleep[before.asleep + k]:
                edge = space.node[before.node].first + k
                x = self._initial(space.edge[edge].task, space.edge[edge].act, count)
                if x != NONE and (x < count or self.asleep[before.asleep + k] != WAITS):
                    return 0  # runs that begin with this task are explored elsewhere
        return self._insert(before, count)

    cdef int _initial(self, int task, int act, int count) noexcept:
        """Whether the moves can begin with the next step of a task, which does `act`.

        NONE if not; else at which move it comes, `count` if it comes nowhere and concerns none of them.
        """
        cdef int x = 0, y
        while x < count and self.move[x].task != task:
            x += 1
        for y in range(x):
            if self._depends(self.move[y], Move(task, self.move[x].act if x < count else act)):
                return NONE
        return x

    cdef bint _depends(self, Move one, Move other) noexcept:
        return self.space.related(one.task, other.task) or self.space.relation(one.act, other.act) & CONFLICT

    cdef int _insert(self, Frame *at, int count) except -1:
        """Insert the moves into a frame's wakeup tree, unless it leads to a run that begins with them as it is."""
        cdef Space space = self.space
        cdef int parent = NONE, here = at.tree, x = 0, k
        cdef long node = at.node, edge
        while True:
            if here == NONE and parent != NONE:
                return 0
            while here != NONE:
                edge = space.edge_of(node, self.branch[here].task)
                x = self._initial(self.branch[here].task, space.edge[edge].act, count)
                if x != NONE:
                    break
                here = self.branch[here].next
            if here == NONE:
                break
            for k in range(x, count - 1):
                self.move[k] = self.move[k + 1]
            count -= x < count
            if space.edge[edge].target != FAULT:
                node = space.follow(node, edge)
            parent, here = here, self.branch[here].child
        for k in range(count):
            parent = self._append(at, parent, self.move[k].task)
        return 0

    cdef int _append(self, Frame *at, int parent, int task) except -1:
        """A new last child of a branch, or of the tree."""
        cdef int made = self._new_branch(task), c = at.tree if parent == NONE else self.branch[parent].child
        if c == NONE:
            if parent == NONE:
                at.tree = made
            else:
                self.branch[parent].child = made
            return made
        while self.branch[c].next != NONE:
            c = self.branch[c].next
        self.branch[c].next = made
        return made

    cdef int _new_branch(self, int task) except -1:
        cdef int made = self.spare
        if made != NONE:
            self.spare = self.branch[made].next
        else:
            if self.branches == self.room_branches:
                self.room_branches *= 2
                self.branch = <Branch *>more(self.branch, self.room_branches * sizeof(Branch))
            made = self.branches
            self.branches += 1
        self.branch[made] = Branch(task, NONE, NONE)
        return made

    # ------------------------------------------------------------------------------------------------ a place in the tree

    def place(self):
        """Where the search is in the tree of runs, and what it has yet to explore."""
        cdef int k
        cdef list shared = [], own = []
        if not self.begun:
            return Place()
        for k in range(self.depth):
            wishes = self._wishes(self.branch[self.frame[k].tree].next)
            if k < self.base:
                shared.append(self.shared[k]._replace(wishes=wishes))
            else:
                own.append(Fork(self._taken(k), self.space.paths[self.event[k + 1].task], wishes))
        wishes = self._wishes(self.frame[self.depth].tree)
        return Place(tuple(shared), tuple(own), self._taken(self.depth), wishes, self.frame[self.depth].begun)

    def take_up(self, place):
        """Go on from a place, in a search that has not begun. InternalError if there is no such place."""
        cdef int k = 0
        self._widen(max(self.width, self.space.tasks))
        self._enter(0, NULL)
        self.begun = True
        self.shared, self.base = place.shared, len(place.shared)
        for fork in (*place.shared, *place.own):
            self._take(k, fork.taken, TAKEN)
            self._take(k, fork.given, GIVEN)
            self._wish(k, (fork.task,))
            self.frame[k].begun = True
            self._step(self.frame[k].tree)
            for wish in fork.wishes:
                self._wish(k, wish)
            self._take(k, fork.later, GIVEN)
            k += 1
        self._take(k, place.taken, TAKEN)
        for wish in place.wishes:
            self._wish(k, wish)
        self.frame[k].begun = place.begun

    cdef tuple _taken(self, int k):
        """The tasks of which this search has explored the runs in which they go first in frame k."""
        cdef Frame *here = &self.frame[k]
        cdef long e, first = self.space.node[here.node].first
        cdef list found = []
        for e in range(self.space.node[here.node].count):
            if self.asleep[here.asleep + e] == TAKEN:
                found.append(self.space.paths[self.space.edge[first + e].task])
        return tuple(found)

    cdef int _take(self, int k, tuple paths, int why) except -1:
        for path in paths:
            self._sleep(k, self.space.task(path), why)
        return 0

    cdef tuple _wishes(self, int branch):
        """The ways from a branch, and from those to the right of it, to the leaves."""
        cdef list found = []
        while branch != NONE:
            path = self.space.paths[self.branch[branch].task]
            below = self._wishes(self.branch[branch].child)
            found += [(path, *wish) for wish in below or ((),)]
            branch = self.branch[branch].next
        return tuple(found)

    cdef int _wish(self, int k, tuple paths) except -1:
        """Have the wakeup tree of frame k lead this way, too."""
        cdef int task, parent = NONE, branch = self.frame[k].tree
        for path in paths:
            task = self.space.task(path)
            while branch != NONE and self.branch[branch].task != task:
                branch = self.branch[branch].next
            parent = branch if branch != NONE else self._append(&self.frame[k], parent, task)
            branch = self.branch[parent].child
        return 0
