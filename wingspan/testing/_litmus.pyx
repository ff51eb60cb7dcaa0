# cython: boundscheck=False
"""The machine of `wingspan.testing.litmus` in C: states of fixed width, in a table of whole states, so that none is lost.

A state is a row of numbers of 16 bits: for each task where it is in the code and its register, then the cells, then who
holds each lock (0 if nobody does, else the task's number plus one), then zeros up to a multiple of 8 bytes.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from wingspan.base.errors import InternalError
from wingspan.explorer._space import EFFECTS
from wingspan.explorer._space cimport BLOCKED, FAULT, RACE, UNKNOWN, Move, Space, more
from wingspan.testing import litmus

cdef enum Op:
    END
    LOAD
    STORE
    ADD
    CLAIM
    TAKE
    SWAP
    CHECK
    LOCK
    UNLOCK
    PRIVATE  # from here on no other task sees it
    JUMP
    SPAWN
    ASSERT

cdef struct Instruction:
    int op
    int at        # the place of its cell or lock in a state
    int x, y      # its numbers; of a jump where it goes, and which register it takes
    bint always   # of a store: the value is relative; of a jump: whatever the register has
    int first     # of the tasks that it runs

cdef uint64_t NODE = (<uint64_t>1 << 40) - 1
cdef int ENDLESS = 1 << 20  # so many invisible steps in a row do not end

EFFECT_OF = {"Load": ("read",) * 2, "Store": ("write",) * 2, "Add": ("atomic",) * 2, "Claim": ("read", "atomic"),
             "Take": ("look", "atomic"), "Swap": ("look", "atomic"), "Check": ("read",) * 2,
             "Lock": ("acquire",) * 2, "Unlock": ("look", "release")}
"""What an instruction does to its cell if it fails and if it succeeds."""

OPS = {"Load": LOAD, "Store": STORE, "Add": ADD, "Claim": CLAIM, "Take": TAKE, "Swap": SWAP, "Check": CHECK,
       "Lock": LOCK, "Unlock": UNLOCK, "Private": PRIVATE, "Jump": JUMP, "Spawn": SPAWN, "Assert": ASSERT}


cdef class LitmusSpace(Space):
    """The states of a `Litmus` that a search has reached; it reports on them when it is over."""

    cdef readonly object machine
    cdef Instruction *code
    cdef int *start          # where the tasks begin that are run by instructions, -1 after the last of each
    cdef int *child          # the first task below a task, and
    cdef int *sibling        # the next beside a task; -1 if there is none
    cdef int tasks_, cells, locks, end, width_, words
    cdef short *states       # of node n from n * width_ on
    cdef long room_states
    cdef short *here         # the state that is being made
    cdef unsigned char *moved  # the tasks of which `_settle` has taken steps
    cdef uint64_t *table     # the upper bits of a hash and a node's number plus one; 0 if free
    cdef uint64_t mask

    def __init__(self, machine):
        self.machine = machine
        self.tasks_, self.cells, self.locks = len(machine.paths), len(machine.cells), len(machine.locks)
        self.end = len(machine.code) - 1
        self.words = (2 * self.tasks_ + self.cells + self.locks + 3) // 4
        self.width_ = 4 * self.words
        self.room_states, self.mask = 1024, 4095
        self.states = <short *>more(NULL, self.room_states * self.width_ * sizeof(short))
        self.here = <short *>_zeros(self.width_ * sizeof(short))
        self.moved = <unsigned char *>_zeros(self.tasks_)
        self.table = <uint64_t *>_zeros((self.mask + 1) * sizeof(uint64_t))
        self._tree()
        self._code()
        self._arrive_first()

    def __dealloc__(self):
        for pointer in (<size_t>self.code, <size_t>self.start, <size_t>self.child, <size_t>self.sibling,
                        <size_t>self.states, <size_t>self.here, <size_t>self.moved,
                        <size_t>self.table):
            free(<void *><size_t>pointer)

    # ---------------------------------------------------------------------------------------------------- the program

    def _tree(self):
        """Number the tasks as the machine does, and say which is below and beside which."""
        cdef int t
        self.child = <int *>more(NULL, self.tasks_ * sizeof(int))
        self.sibling = <int *>more(NULL, self.tasks_ * sizeof(int))
        for t in range(self.tasks_):
            assert self.task(self.machine.paths[t]) == t
            self.child[t] = min(self.machine.below[t], default=-1)
            beside = self.machine.below[self.machine.up[t]] if t else ()
            self.sibling[t] = min((other for other in beside if other > t), default=-1)

    def _code(self):
        """Translate the instructions; the acts of the one at pc are 2 * pc if it fails and 2 * pc + 1."""
        cdef int pc
        starts = []
        self.code = <Instruction *>_zeros(len(self.machine.code) * sizeof(Instruction))
        for pc, instruction in enumerate(self.machine.code):
            name = type(instruction).__name__
            self.code[pc].op = OPS.get(name, END)
            if name in EFFECT_OF:
                self.code[pc].at = self._place(instruction) + 2 * self.tasks_
            for effect in EFFECT_OF.get(name, ("", "")):
                cells = [self._place(instruction)] if effect else []
                self.new_act(cells, [EFFECTS.index(effect) for _ in cells])
            if name == "Spawn":
                self.code[pc].first = len(starts)
                starts += [*self.machine.starts[pc], -1]
            self._numbers(&self.code[pc], pc, instruction)
        self.start = <int *>more(NULL, max(1, len(starts)) * sizeof(int))
        for pc, begins in enumerate(starts):
            self.start[pc] = begins

    def _place(self, instruction):
        """The number of the cell or lock of an instruction."""
        if isinstance(instruction, litmus.ON_CELLS):
            return self.machine.cells.index(instruction.cell)
        return self.cells + self.machine.locks.index(instruction.name)

    cdef int _numbers(self, Instruction *made, int pc, instruction) except -1:
        if made.op == STORE:
            made.x, made.always = instruction.value, instruction.relative
        elif made.op == TAKE:
            made.x = instruction.bound
        elif made.op == SWAP:
            made.x, made.y = instruction.old, instruction.new
        elif made.op == JUMP:
            made.x, made.always = self.machine.targets[pc], instruction.value is None
            made.y = instruction.value or 0
        elif made.op in (ADD, CLAIM, CHECK, PRIVATE, ASSERT):
            made.x = instruction.value
        return 0

    # ----------------------------------------------------------------------------------------------------- one task

    cdef bint _waits(self, int task) noexcept:
        """Whether a task waits for its children."""
        cdef int t = self.child[task]
        while t >= 0:
            if self.code[self.here[2 * t]].op != END or self._waits(t):
                return True
            t = self.sibling[t]
        return False

    cdef bint _able(self, int task) noexcept:
        return self.code[self.here[2 * task]].op != END and not self._waits(task)

    cdef bint _succeeds(self, int task) noexcept:
        """Whether the next step of a task does what it is there for: no fault, no failing claim, no waiting."""
        cdef Instruction *what = &self.code[self.here[2 * task]]
        if what.op == CLAIM or what.op == SWAP or what.op == CHECK:
            return self.here[what.at] == what.x
        if what.op == TAKE:
            return self.here[what.at] < what.x
        if what.op == LOCK:
            return self.here[what.at] == 0
        if what.op == UNLOCK:
            return self.here[what.at] == task + 1
        if what.op == ASSERT:
            return self.here[2 * task + 1] == what.x
        return True

    cdef int _execute(self, int task) except -1:
        """Take the next step of a task, which does not fault and can be taken."""
        cdef short *pc = self.here + 2 * task
        cdef short *register = pc + 1
        cdef Instruction *what = &self.code[pc[0]]
        cdef short *at = self.here + what.at
        cdef bint succeeds = self._succeeds(task)
        cdef int old = at[0]
        pc[0] += 1
        if what.op == LOAD:
            register[0] = old
        elif what.op == STORE:
            at[0] = _short(what.x + (register[0] if what.always else 0))
        elif what.op == ADD:
            at[0], register[0] = _short(old + what.x), old
        elif what.op == CLAIM:
            at[0] = _short(old + succeeds)
        elif what.op == TAKE:
            at[0], register[0] = _short(old + succeeds), old
        elif what.op == SWAP:
            at[0], register[0] = what.y if succeeds else old, old
        elif what.op == LOCK:
            at[0] = task + 1
        elif what.op == UNLOCK:
            at[0] = 0
        elif what.op == PRIVATE:
            register[0] = _short(register[0] + what.x)
        elif what.op == JUMP and (what.always or register[0] == what.y):
            pc[0] = what.x
        elif what.op == SPAWN:
            self._spawn(task, self.start + what.first)
        return 0

    cdef void _spawn(self, int task, int *start) noexcept:
        """Have tasks begin below one; all others that were below it are gone."""
        cdef int t = self.child[task]
        while t >= 0:
            self._spawn(t, NULL)
            self.here[2 * t], self.here[2 * t + 1] = self.end, 0
            if start != NULL and start[0] >= 0:
                self.here[2 * t] = start[0]
                start += 1
            t = self.sibling[t]

    cdef int _run_ahead(self, int task) except -1:
        """Take the invisible steps of a task up to one that others see or that faults; whether it took any."""
        cdef int taken = 0
        while self.code[self.here[2 * task]].op >= PRIVATE and self._able(task) and self._succeeds(task):
            self._execute(task)
            taken += 1
            if taken == ENDLESS:
                raise InternalError(f"task {self.paths[task] or '0'} repeats invisible steps without end")
        return taken

    cdef int _settle(self) except -1:
        """Take invisible steps until none is left, and note whose."""
        cdef bint again = True
        cdef int t
        memset(self.moved, False, self.tasks_)
        while again:
            again = False
            for t in range(self.tasks_):
                if self._run_ahead(t):
                    self.moved[t] = again = True
        return 0

    # ------------------------------------------------------------------------------------------------------ the states

    def _arrive_first(self):
        cdef int t
        for t in range(self.tasks_):
            self.here[2 * t] = self.end
        self.here[0] = 0
        first = [*self.machine.first, -1]
        cdef int *start = <int *>more(NULL, len(first) * sizeof(int))
        for t in range(len(first)):
            start[t] = first[t]
        self._spawn(0, start)
        free(start)
        self._settle()
        self._look_up(-1, -1)

    cpdef long enter(self, long node, int task) except -10:
        """The node that a step leads to. Tasks above one that has ended may go on; of others nothing changes."""
        cdef int above = self.up[task]
        memcpy(self.here, self.states + node * self.width_, self.width_ * sizeof(short))
        self._execute(task)
        self._run_ahead(task)
        if self.code[self.here[2 * task]].op == END or self._waits(task):
            if self._waits(task) or (above >= 0 and not self._waits(above)):
                self._settle()
                resumed = []
                while above >= 0:
                    if self.moved[above]:
                        resumed.append(above)
                    above = self.up[above]
                if resumed:
                    self._resumed(self.edge_of(node, task), tuple(resumed))
        return self._look_up(node, task)

    cdef uint64_t _hash(self, short *state) noexcept:
        cdef uint64_t hash = 0, word
        cdef int k
        for k in range(self.words):
            memcpy(&word, state + 4 * k, 8)
            hash = (hash ^ word) * <uint64_t>0x9E3779B97F4A7C15
            hash ^= hash >> 32
        return hash

    cdef long _look_up(self, long parent, int by) except -10:
        """The node of the state that has been made."""
        cdef uint64_t hash = self._hash(self.here), slot = hash & self.mask
        cdef long node
        while self.table[slot]:
            if not (self.table[slot] ^ hash) >> 40:
                node = (self.table[slot] & NODE) - 1
                if not memcmp(self.states + node * self.width_, self.here, self.width_ * sizeof(short)):
                    return node
            slot = (slot + 1) & self.mask
        node = self._arrive(parent, by)
        self.table[slot] = hash & ~NODE | <uint64_t>(node + 1)
        if 2 * <uint64_t>self.nodes > self.mask:
            self._rehash()
        return node

    cdef int _rehash(self) except -1:
        """Make the table larger."""
        cdef uint64_t hash, slot
        cdef long node
        self.mask = 4 * self.mask + 3
        free(self.table)
        self.table = <uint64_t *>_zeros((self.mask + 1) * sizeof(uint64_t))
        for node in range(self.nodes):
            hash = self._hash(self.states + node * self.width_)
            slot = hash & self.mask
            while self.table[slot]:
                slot = (slot + 1) & self.mask
            self.table[slot] = hash & ~NODE | <uint64_t>(node + 1)
        return 0

    cdef long _arrive(self, long parent, int by) except -10:
        """A new node for the state that has been made, with an edge for each task that has not ended nor waits."""
        cdef long node = self.new_node(parent, by), target
        cdef int task, op
        cdef bint succeeds
        if node == self.room_states:
            self.room_states *= 2
            self.states = <short *>more(self.states, self.room_states * self.width_ * sizeof(short))
        memcpy(self.states + node * self.width_, self.here, self.width_ * sizeof(short))
        for task in range(self.tasks_):
            if self._able(task):
                op, succeeds = self.code[self.here[2 * task]].op, self._succeeds(task)
                target = UNKNOWN
                if not succeeds and op == LOCK:
                    target = BLOCKED
                elif not succeeds and (op == CHECK or op == UNLOCK or op == ASSERT):
                    target = FAULT
                self.new_edge(task, 2 * self.here[2 * task] + (succeeds or op == CHECK or op == LOCK), target)
        return node

    # ------------------------------------------------------------------------------------------------- what was found

    def found(self):
        """What there is to say of the nodes that have been found."""
        cdef long node, p, q, last
        cdef int steps
        cdef int *target
        cdef Move *move
        cdef bytearray told = bytearray(self.acts * self.acts)
        cdef unsigned char *known = told
        found, ends = litmus.Found(set(), set(), set(), set()), set()
        for node in range(self.nodes):
            target, move, last, steps = self.target + self.node[node].first, self.moves_of(node), self.degree(node), 0
            for p in range(last):
                if target[p] == BLOCKED:
                    continue
                steps += 1
                if target[p] == FAULT and not known[move[p].act * (self.acts + 1)]:
                    known[move[p].act * (self.acts + 1)] = True
                    found.faults.add(self.machine.spans[move[p].act // 2])
                for q in range(p + 1, last):
                    if target[q] != BLOCKED and self.relation(move[p].act, move[q].act) & RACE:
                        if not known[move[p].act * self.acts + move[q].act]:
                            known[move[p].act * self.acts + move[q].act] = True
                            self._race(found.races, move[p].act, move[q].act)
            if not last:
                cells = (<char *>(self.states + node * self.width_ + 2 * self.tasks_))[:self.cells * sizeof(short)]
                if cells not in ends:
                    ends.add(cells)
                    found.outcomes.add(self.machine.outcome(self.state(node)))
            elif not steps:
                offers = self.offers(node)
                found.deadlocks.add(frozenset((path, touches[0][0]) for path, touches, _ in offers))
        return found

    def _race(self, set races, int one, int other):
        """Note the cells on which two acts race."""
        cdef long p, q
        spans = frozenset((self.machine.spans[one // 2], self.machine.spans[other // 2]))
        for p in range(self.touches[one], self.touches[one + 1]):
            for q in range(self.touches[other], self.touches[other + 1]):
                if self.cell[p] == self.cell[q]:
                    races.add((self.machine.cells[self.cell[p]], spans))

    def state(self, long node):
        """The state of a node, as the readable machine has it."""
        cdef short *state = self.states + node * self.width_
        cdef int k, cells = 2 * self.tasks_, locks = cells + self.cells
        return litmus.LitmusState(
            tuple([state[k] for k in range(cells, locks)]),
            tuple([state[k] - 1 for k in range(locks, locks + self.locks)]),
            tuple([(state[2 * k], state[2 * k + 1]) for k in range(self.tasks_)]),
        )

    def offers(self, long node):
        """For each task that can go on or waits for a lock: what it does next to which cells; and the node after it."""
        cdef Move move
        cdef long e, q
        names = [*self.machine.cells, *(f"lock {name}" for name in self.machine.locks)]
        found = []
        for e in range(self.degree(node)):
            move = self.moves_of(node)[e]
            act = range(self.touches[move.act], self.touches[move.act + 1])
            touches = [(names[self.cell[q]], EFFECTS[self.effect[q]]) for q in act]
            found.append((self.paths[move.task], touches, self.target[self.node[node].first + e]))
        return found


cdef short _short(int value) except? -1:
    if value != <short>value:
        raise OverflowError(f"{value} is too large for the cells and registers of a litmus program")
    return value


cdef void *_zeros(size_t bytes) except NULL:
    cdef void *new = calloc(bytes, 1)
    if new == NULL:
        raise MemoryError
    return new
