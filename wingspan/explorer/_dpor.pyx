"""Optimal dynamic partial-order reduction: one run for each trace of the program.

Two runs are the same *trace* if one comes from the other by swapping neighbouring steps that do not conflict. Source:
Abdulla, Aronis, Jonsson, Sagonas, "Source sets: a foundation for optimal dynamic partial order reduction" (J. ACM
2017), algorithm 2, with wakeup trees. It walks the nodes of a `Space`, so that going back is free.

Not in that text:

- `_events.pyx` defines events, and which of them race. A task that waits for a lock when a run has ended races with the
  acquisition by the holder; without this, deadlocks are lost.
- A step that faults ends its task; the others continue. So a run can have several faults, and none is missed: everything
  that comes after a fault also happens without it.
- An event that is moved may do something else: it is what it does at the node where it then comes.
- Parts of the tree may be searched separately (`wingspan.explorer.prefix_tree`). A task whose runs others search
  *waits*: it sleeps, but forbids no run in which it does not come first; so some runs end where all wait. docs/parts.md
  proves that no trace is lost.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport free
from libc.string cimport memset

from wingspan.explorer._events cimport NONE, Event, Events
from wingspan.explorer._space cimport BLOCKED, CONFLICT, FAULT, LOCKS, Move, Space, more
from wingspan.explorer.prefix_tree import Astray, ChoicePoint, ExplorationPrefix


cdef struct Frame:
    long node
    int tree          # the first child of its wakeup tree, NONE if there is none
    long asleep       # the start of its flags, one for each edge
    bint begun

cdef struct Branch:   # of a wakeup tree
    int task
    int child         # the first one
    int next          # the sibling to the right

cdef enum:            # why a task sleeps in a frame
    SLEEPS = 1        # it was TAKEN in an earlier frame, and no event since has conflicted with it
    WAITS = 2         # likewise of GIVEN
    TAKEN = 3         # the runs in which it goes first here have been explored by this search
    GIVEN = 4         # or are explored by others


cdef long OFTEN = 4096  # the number of events examined between two ticks


cdef class Dpor:
    """The search of all runs, or of a part: `run` to its end, or until the space refuses another node."""

    cdef readonly Space space
    cdef public long executions
    cdef readonly long redundant
    """runs to an end; runs that end where all tasks sleep, of which an undivided search has none"""
    cdef public dict ends
    """the number of executions that ended in each node, also if a task had faulted before"""
    cdef tuple shared          # the forks on the path to what this search explores,
    cdef int base              # and their number
    cdef bint begun
    cdef Events past           # of the current run
    cdef Frame *frame          # frame k is the one after k events
    cdef int room
    cdef unsigned char *asleep
    cdef long room_asleep
    cdef Branch *branch
    cdef int branches, room_branches, spare
    cdef Move *move
    cdef long looked           # the number of events examined since the last tick

    def __init__(self, Space space):
        self.space = space
        self.ends = {}
        self.shared = ()
        self.past = Events(space)
        self.room = self.room_branches = 64
        self.room_asleep = 1024
        self.frame = <Frame *>more(NULL, self.room * sizeof(Frame))
        self.move = <Move *>more(NULL, self.room * sizeof(Move))
        self.asleep = <unsigned char *>more(NULL, self.room_asleep)
        self.branch = <Branch *>more(NULL, self.room_branches * sizeof(Branch))
        self.spare = NONE

    def __dealloc__(self):
        for pointer in (<size_t>self.frame, <size_t>self.move, <size_t>self.asleep, <size_t>self.branch):
            free(<void *><size_t>pointer)

    # --------------------------------------------------------------------------------------------------------- the walk

    def run(self, long most=-1):
        """Explore all traces, or continue for this many runs: whether that is all."""
        cdef Frame *here
        cdef long last = self.executions + self.redundant + most
        if not self.begun:
            self.resume(ExplorationPrefix())
        while most < 0 or self.executions + self.redundant < last:
            here = &self.frame[self.past.count]
            if not here.begun:
                self._begin(here)
                here.begun = True
            if here.tree != NONE:
                self._step(here.tree)
            elif self.past.count > self.base:
                self._back()
            else:
                return True
        return False

    def planned(self):
        """The number of runs that the wakeup trees require, besides the current one."""
        cdef int k, branch, wanted = 0
        for k in range(self.past.count + 1):
            branch = self.frame[k].tree
            while branch != NONE:
                branch = self.branch[branch].next
                wanted += branch != NONE
        return wanted

    cdef int _tick(self, int events) except -1:
        """Let the space stop the search, now and then."""
        self.looked += events
        if self.looked >= OFTEN:
            self.looked = 0
            self.space.tick()
        return 0

    cdef int _begin(self, Frame *here) except -1:
        """Choose the first step where no earlier run left a wakeup sequence; at the end of a run, find its races."""
        cdef Space space = self.space
        cdef long first = space.node[here.node].first
        cdef int k, task, chosen = NONE, able = 0
        cdef int latest = self.past.event[self.past.count].task if self.past.count else NONE
        if here.tree != NONE:
            return 0
        for k in range(space.degree(here.node)):
            task = space.moves_of(here.node)[k].task
            if space.target[first + k] == BLOCKED or self.past.dead[task]:
                continue
            able += 1
            if not self.asleep[here.asleep + k] and (chosen == NONE or task == latest):
                chosen = task
        if chosen != NONE:
            here.tree = self._new_branch(chosen)
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
        cdef Frame *here = &self.frame[self.past.count]
        cdef int task = self.branch[branch].task
        cdef long edge = space.edge_of(here.node, task), after
        self._tick(1)
        if edge < 0 or space.target[edge] == BLOCKED or self.past.dead[task]:
            raise Astray(f"task {space.paths[task] or '0'} cannot step where a wakeup tree wants it to")
        if self.asleep[here.asleep + edge - space.node[here.node].first]:
            raise Astray(f"task {space.paths[task] or '0'} is asleep where a wakeup tree wants it to step")
        after = space.follow(here.node, edge)
        self.past.push(here.node, edge)
        self._enter(here.node if after == FAULT else after)
        self.frame[self.past.count].tree = self.branch[branch].child
        self.branch[branch].child = NONE
        return 0

    cdef int _enter(self, long node) except -1:
        """A frame for a node. Tasks still sleep that slept before and do not conflict with the newest event."""
        cdef Space space = self.space
        cdef Frame *above = NULL
        cdef Event *by = &self.past.event[self.past.count]
        cdef Move move
        cdef long k, start = 0
        cdef int depth = self.past.count, count = space.degree(node), why
        if depth > space.nodes + space.tasks:  # each task faults at most once
            raise Astray("a run comes back to a state it was in: the machine does not terminate")
        if depth == self.room:
            self.room *= 2
            self.frame = <Frame *>more(self.frame, self.room * sizeof(Frame))
            self.move = <Move *>more(self.move, self.room * sizeof(Move))
        if depth:
            above = &self.frame[depth - 1]
            start = above.asleep + space.degree(above.node)
        while start + count > self.room_asleep:
            self.room_asleep *= 2
            self.asleep = <unsigned char *>more(self.asleep, self.room_asleep)
        memset(self.asleep + start, 0, count)
        self.frame[depth] = Frame(node, NONE, start, False)
        if depth:
            for k in range(space.degree(above.node)):
                move = space.moves_of(above.node)[k]
                why = self.asleep[above.asleep + k]
                if why and not space.relation(by.act, move.act) & CONFLICT:
                    self._sleep(depth, move.task, WAITS if why in (WAITS, GIVEN) else SLEEPS)
        return 0

    cdef int _sleep(self, int k, int task, int why) except -1:
        """Let a task sleep in frame k."""
        cdef Frame *here = &self.frame[k]
        cdef long edge = self.space.edge_of(here.node, task)
        if edge < 0:
            raise Astray(f"task {self.space.paths[task] or '0'} is wanted where it cannot step")
        self.asleep[here.asleep + edge - self.space.node[here.node].first] = why
        return 0

    cdef int _back(self) except -1:
        """Leave the newest frame and undo its event, whose task sleeps from then on."""
        cdef int task = self.past.pop(), gone
        cdef Frame *here = &self.frame[self.past.count]
        gone = here.tree
        here.tree = self.branch[gone].next
        self.branch[gone].next = self.spare
        self.spare = gone
        return self._sleep(self.past.count, task, TAKEN)

    # ------------------------------------------------------------------------------------------------- reversing races

    cdef int _reverse_races(self) except -1:
        """At the end of a run: let each of its races run the other way round, unless another run does so anyway."""
        cdef Space space = self.space
        cdef Events past = self.past
        cdef Move move
        cdef long r, e, node = self.frame[past.count].node
        cdef int i
        for i in range(1, past.count + 1):
            r = past.event[i].races
            while past.race[r]:
                self._reverse(past.race[r], past.event[i].task)
                r += 1
        for e in range(space.degree(node)):
            move = space.moves_of(node)[e]
            if space.target[space.node[node].first + e] == BLOCKED and not past.dead[move.task]:
                self._acquire_first(move.task, move.act)
        return 0

    cdef int _acquire_first(self, int task, int act) except -1:
        """Let a task that waits for a lock acquire it before the holder, unless its earlier steps come after that.

        A failing release in between conflicts with both, and is no obstacle: the task cannot come between them.
        """
        cdef int j = self.past.count
        while j and not self.space.relation(self.past.event[j].act, act) & LOCKS:
            j -= 1
        if j and not self.past.orders(j, task):
            self._reverse(j, task)
        return 0

    cdef int _reverse(self, int j, int task) except -1:
        """Insert into the wakeup tree before event j: what does not happen after j, then the next event of `task`."""
        cdef Space space = self.space
        cdef Events past = self.past
        cdef Frame *before = &self.frame[j - 1]
        cdef Move move
        cdef long node = before.node, edge
        cdef int k, x, count = 0, other = past.event[j].task
        self._tick(past.count - j)
        for k in range(j + 1, past.count + 1):
            if past.clock[<long>k * past.width + other] >= j:
                continue
            edge = space.edge_of(node, past.event[k].task)
            if edge < 0 or space.move_of(node, edge).act != past.event[k].act or space.target[edge] == BLOCKED:
                raise Astray("an event that does not happen after another depends on it all the same")
            self.move[count] = Move(past.event[k].task, past.event[k].act, 0)
            count += 1
            if space.target[edge] != FAULT:
                node = space.follow(node, edge)
        edge = space.edge_of(node, task)
        if edge < 0 or space.target[edge] == BLOCKED:
            return 0  # it took the other event to enable this one: the two have one order only
        self.move[count] = space.move_of(node, edge)
        count += 1
        for k in range(space.degree(before.node)):
            if self.asleep[before.asleep + k]:
                move = space.moves_of(before.node)[k]
                x = self._initial(move.task, move.act, count)
                if x != NONE and (x < count or self.asleep[before.asleep + k] != WAITS):
                    return 0  # runs that begin with this task are explored elsewhere
        return self._insert(before, count)

    cdef int _initial(self, int task, int act, int count) noexcept:
        """Whether the moves can begin with the next step of a task, which does `act`.

        NONE if not; else the number of the move that it is, or `count` if it is none of them and conflicts with none.
        """
        cdef int x = 0, y
        while x < count and self.move[x].task != task:
            x += 1
        for y in range(x):
            if self._depends(self.move[y], Move(task, self.move[x].act if x < count else act, 0)):
                return NONE
        return x

    cdef bint _depends(self, Move one, Move other) noexcept:
        return self.space.related(one.task, other.task) or self.space.relation(one.act, other.act) & CONFLICT

    cdef int _insert(self, Frame *at, int count) except -1:
        """Insert the moves into a frame's wakeup tree, unless it already leads to a run that begins with them."""
        cdef Space space = self.space
        cdef int parent = NONE, here = at.tree, x = 0, k
        cdef long node = at.node, edge
        while True:
            if here == NONE and parent != NONE:
                return 0
            while here != NONE:
                edge = space.edge_of(node, self.branch[here].task)
                if edge < 0 or space.target[edge] == BLOCKED:
                    raise Astray("a wakeup tree leads where no task can step")
                x = self._initial(self.branch[here].task, space.move_of(node, edge).act, count)
                if x != NONE:
                    break
                here = self.branch[here].next
            if here == NONE:
                break
            for k in range(x, count - 1):
                self.move[k] = self.move[k + 1]
            count -= x < count
            if space.target[edge] != FAULT:
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

    # ------------------------------------------------------------------------------------------- a position in the tree

    def prefix(self):
        """The position of the search in the tree of runs, and what it has yet to explore."""
        cdef int k
        cdef list shared = [], own = []
        if not self.begun:
            return ExplorationPrefix()
        for k in range(self.past.count):
            sequences = self._sequences(self.branch[self.frame[k].tree].next)
            if k < self.base:
                shared.append(self.shared[k]._replace(sequences=sequences))
            else:
                own.append(ChoicePoint(self._taken(k), self.space.paths[self.past.event[k + 1].task], sequences))
        sequences = self._sequences(self.frame[self.past.count].tree)
        begun = bool(self.frame[self.past.count].begun)
        return ExplorationPrefix(tuple(shared), tuple(own), self._taken(self.past.count), sequences, begun)

    def resume(self, prefix):
        """Continue from a prefix, in a search that has not begun. Astray if there is no such prefix."""
        cdef int k = 0
        self.past.widen(max(self.past.width, self.space.tasks))
        self._enter(0)
        self.begun = True
        self.shared, self.base = prefix.shared, len(prefix.shared)
        for point in (*prefix.shared, *prefix.own):
            self._take(k, point.taken, TAKEN)
            self._take(k, point.earlier, GIVEN)
            self._add_sequence(k, (point.task,))
            self.frame[k].begun = True
            self._step(self.frame[k].tree)
            for sequence in point.sequences:
                self._add_sequence(k, sequence)
            self._take(k, point.later, GIVEN)
            k += 1
        self._take(k, prefix.taken, TAKEN)
        for sequence in prefix.sequences:
            self._add_sequence(k, sequence)
        self.frame[k].begun = prefix.begun
        if bool(prefix.taken) > prefix.begun or (prefix.begun and not prefix.taken and self._awake(k)):
            raise Astray("a search has not begun where it has been, or has nothing to do where it has not")

    cdef bint _awake(self, int k):
        """Whether a task could step in frame k that neither sleeps there nor is in its wakeup tree."""
        cdef Frame *here = &self.frame[k]
        cdef int *target = self.space.target + self.space.node[here.node].first
        cdef Move *move = self.space.moves_of(here.node)
        cdef long e
        if here.tree != NONE:
            return False
        for e in range(self.space.degree(here.node)):
            if not self.asleep[here.asleep + e] and target[e] != BLOCKED and not self.past.dead[move[e].task]:
                return True
        return False

    cdef tuple _taken(self, int k):
        """The tasks that go first in frame k in runs that this search has explored."""
        cdef Frame *here = &self.frame[k]
        cdef long e
        cdef list found = []
        for e in range(self.space.degree(here.node)):
            if self.asleep[here.asleep + e] == TAKEN:
                found.append(self.space.paths[self.space.moves_of(here.node)[e].task])
        return tuple(found)

    cdef int _take(self, int k, tuple paths, int why) except -1:
        """Let tasks sleep in frame k that have gone first there."""
        cdef long edge
        for path in paths:
            edge = self.space.edge_of(self.frame[k].node, self.space.task(path))
            if edge < 0 or self.space.target[edge] == BLOCKED:
                raise Astray(f"task {path or '0'} has gone first where it cannot step")
            self._sleep(k, self.space.task(path), why)
        return 0

    cdef tuple _sequences(self, int branch):
        """The paths from a branch, and from those to the right of it, to the leaves."""
        cdef list found = []
        while branch != NONE:
            path = self.space.paths[self.branch[branch].task]
            below = self._sequences(self.branch[branch].child)
            found += [(path, *sequence) for sequence in below or ((),)]
            branch = self.branch[branch].next
        return tuple(found)

    cdef int _add_sequence(self, int k, tuple paths) except -1:
        """Add this path to the wakeup tree of frame k."""
        cdef int task, parent = NONE, branch = self.frame[k].tree
        for path in paths:
            task = self.space.task(path)
            while branch != NONE and self.branch[branch].task != task:
                branch = self.branch[branch].next
            parent = branch if branch != NONE else self._append(&self.frame[k], parent, task)
            branch = self.branch[parent].child
        return 0
