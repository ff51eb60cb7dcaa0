# distutils: language = c++
"""The states of a machine with local steps (`wingspan.explorer.local`), walked by compiled code: see `tables.h`, and
`renaming.h` for states that count as one if they differ only in the names of tasks.
"""

import struct

from cpython.exc cimport PyErr_CheckSignals
from libcpp.vector cimport vector
from libc.stdint cimport uint32_t, uint64_t

from wingspan.explorer._space cimport BLOCKED, FAULT, UNKNOWN, Menu, Menus, Move, Node, Space, Walker

from wingspan.base.errors import Fault, InternalError
from wingspan.explorer.local import ABSENT, DROPPED, CellLog, Tree
from wingspan.explorer.machine import Blocked

cdef extern from "renaming.h" namespace "tables":
    const uint32_t NONE
    enum Kind: STEP, STUCK, FAULTS
    enum Missing: A_STEP, A_JOIN, A_TASK, AN_END
    cppclass PairMap:
        uint32_t get(uint32_t, uint32_t)
        void put(uint32_t, uint32_t, uint32_t)
    cppclass Lists:
        size_t size(uint32_t)
        const uint32_t *operator[](uint32_t)
    struct Change:
        uint32_t slot
        uint32_t value
    cppclass Entry:
        Kind kind
        bint visible
        int act
        vector[Change] changes
        vector[uint32_t] next
    struct Local:
        uint32_t below
        bint ended
        uint32_t test
    struct Choice:
        uint32_t slot
        uint32_t task
        uint32_t entry
    cppclass Store:
        bint is_full()
    cppclass Walk:
        Store *store
        const Menus *menus
        vector[Local] locals
        vector[Entry] entries
        vector[uint32_t] given, slot, first, here, cells, above
        vector[vector[uint32_t]] regions
        PairMap joins, children
        Lists ends
        vector[Choice] choices
        uint64_t steps
        Missing missing
        uint32_t lacking, among, claim
        int (*supply)(void *) except -1
        void *supplier
        void load(uint32_t) except +
        uint32_t find() except +
        void add() except +
        bint advance(uint32_t) except +
        bint settle(uint32_t) except +
        uint32_t slot_of(uint32_t) except +
        uint32_t value(uint32_t)
        bint enter(uint32_t, const vector[uint32_t] &, uint32_t) except +
        uint32_t find_menu() except +
        size_t bytes()
    struct Slot:
        uint32_t owner
        uint32_t bare
        uint32_t lock
    cppclass SymmetricWalk(Walk):
        bint symmetric
        vector[uint32_t] own, holder
        vector[Slot] belongs
        uint32_t taken
        bint canonicalize() except +
        uint32_t name_in(uint32_t, uint32_t) except +


cdef extern from "parallel.h" namespace "tables":
    struct Successor:
        uint32_t same, number, menu, moves, count, steps, above
    cppclass Batch:
        vector[Successor] edges
        Batch(unsigned) except +
        void set_graph(Node *, int *) nogil
        void compute(const Walk &, uint64_t, size_t, size_t) except + nogil
        void reserve() except +
        vector[uint32_t] above(size_t) except +
        const Move *moves(size_t)
        void number(size_t, uint32_t) except +
        void fulfil(uint32_t, uint32_t)
        void flush() except + nogil
        void close()


cdef long OFTEN = 512  # the number of steps between two ticks
cdef long LARGE = 1 << 14  # the largest number of edges in a batch: some milliseconds


cdef class Tables(Walker):
    """The states of `machine`, and what its tasks do. `states` learns what is found."""

    cdef SymmetricWalk walk
    cdef Store store
    cdef object machine, states
    cdef list _locals, _values, _cells, _slotted, _regions
    cdef dict _numbers, _valued, _celled, _regioned, _anonymous
    cdef long entered, look_every, version, room
    cdef public long limit
    """the number of nodes from which on `states.admit` forbids more"""
    cdef bint checking  # whether there are properties to check at each node
    cdef readonly long asked
    """the number of steps and joins that the machine was asked for"""
    cdef public long least
    """the number of waiting edges from which on several threads are faster than one"""

    def __init__(self, states, long look_every):
        """`states.admit` is called before each node for which `look_every` divides the number of nodes."""
        self.states, self.machine, self.limit = states, states.machine, states.most_nodes()
        self.look_every, self.least = look_every, 256
        self.checking = bool(states.properties)
        self.walk.store, self.walk.menus = &self.store, &(<Space>states).menus
        self._locals, self._values, self._cells, self._slotted, self._regions = [], [ABSENT], [], [], []
        self._numbers, self._valued, self._celled, self._regioned, self._anonymous = {}, {}, {}, {}, {}
        self.walk.holder.push_back(NONE)
        self.walk.symmetric = states.symmetry
        self.walk.taken = self._value(True)
        self.walk.supply, self.walk.supplier = _supply, <void *>self

    def initial(self):
        """Enter the first state."""
        cdef Space space = self.states
        tree, cells = self.machine.local_initial()
        for cell, value in cells.items():
            number = self._value(value)
            self.walk.given[self._cell(cell)] = number
            if self.walk.symmetric and (self.machine.split_cell(cell)[0] or self.walk.holder[number] != NONE):
                self._slot(cell)  # equal cells of several tasks are to be compared where they are
        self._preorder(tree, self.walk.here)
        self.walk.cells = self.walk.first
        self._require(self.walk.settle(NONE) and self.walk.canonicalize())
        space.steps += self.walk.steps
        self.walk.find()
        self._add(space, -1, -1, self.walk.find_menu())

    cdef long enter(self, Space space, long node, int task) except -10:
        cdef uint32_t found
        self.entered += 1
        if self.entered % OFTEN == 0:
            space.tick()
        self.walk.load(node)
        self._require(self.walk.advance(task) and self.walk.canonicalize())
        found = self.walk.find()
        if found != NONE:
            space.steps += self.walk.steps
            return found
        self._require(self.walk.settle(task) and self.walk.canonicalize())
        found = self.walk.find()
        cdef long steps = self.walk.steps
        cdef vector[uint32_t] above
        above = self.walk.above
        target = self._add(space, node, task, self.walk.find_menu()) if found == NONE else found
        space.steps += steps
        if not above.empty():
            self._note_above(space, node, task, above)
        return target

    cdef long _add(self, Space space, long parent, int by, uint32_t menu) except -10:
        """Add the state at hand as a new node, and have it examined if there is something about it.

        There is nothing if another node has had the same choices, the menu of that number.
        """
        cdef size_t k
        cdef long node
        if space.nodes >= self.limit or space.nodes % self.look_every == 0:
            self.states.admit()
        if menu != NONE:
            node = space.add_node(parent, by, menu)
            self.walk.add()
            return self._check(node)
        node = space.new_node(parent, by)
        self.walk.add()
        for k in range(self.walk.choices.size()):
            entry = &self.walk.entries[self.walk.choices[k].entry]
            space.new_edge(
                self.walk.choices[k].task, entry.act,
                UNKNOWN if entry.kind == STEP else FAULT if entry.kind == FAULTS else BLOCKED,
            )
        space.close_menu()
        if not self._is_plain(space, space.node[node].menu):
            self.states.examine(node)
            self.entered = -1  # what it has found may end the search
        return self._check(node)

    cdef long _check(self, long node) except -10:
        """Check the properties at a new node."""
        if self.checking:
            self.states.check_properties(node, self.state(node))
            self.entered = -1
        return node

    cdef bint _is_plain(self, Space space, int number) noexcept:
        """Whether there is nothing to examine about a node with a menu: a run goes on there, and no race is new."""
        cdef Menu *menu = &space.menus.menu[number]
        cdef unsigned int k
        cdef bint able = False
        if menu.plain:
            return True
        for k in range(menu.begin, menu[1].begin):
            if space.menus.move[k].target == FAULT:
                return False
            able |= space.menus.move[k].target != BLOCKED
        menu.plain = able and not space.has_new_race(number)
        return menu.plain

    # ------------------------------------------------------------------------------------------------ several threads

    def flood(self, long most, unsigned threads):
        """Follow all edges as `Space.flood` does, with the help of threads; it may stop some nodes after `most`."""
        cdef Space space = self.states
        cdef Batch *batch = new Batch(threads)
        try:
            while space.expanded < space.nodes:
                if 0 <= most <= space.nodes:
                    return False
                PyErr_CheckSignals()
                self._follow_batch(space, batch)
            return True
        finally:
            del batch

    cdef int _follow_batch(self, Space space, Batch *batch) except -1:
        """Follow the edges of some nodes: the more, the fewer of those before were unclear to the threads."""
        cdef size_t begin = space.expanded, end = begin
        cdef long edge = space.node[begin].first, first = edge, last = edge, unclear = 0
        cdef long room = max(self.room, self.least)
        cdef bint shared
        while end < <size_t>space.nodes and last - first < room:
            last += space.degree(end)
            end += 1
        shared = last - first >= self.least
        if shared:
            space.close_menu()
            batch.set_graph(space.node, space.target)
            with nogil:
                batch.compute(self.walk, self.version, begin, end)
        try:
            PyErr_CheckSignals()
            while space.expanded < <long>end:
                last = edge + space.degree(space.expanded)
                while edge < last:
                    if space.target[edge] == UNKNOWN:
                        if not shared or not self._follow(space, batch, space.expanded, edge, edge - first):
                            unclear += shared
                            self._follow_unclear(space, batch if shared else NULL, space.expanded, edge)
                            if shared and self.store.is_full():
                                return 0
                    edge += 1
                space.expanded += 1
        finally:
            if shared:
                self._flush(space, batch)
                batch.close()
        self.room = min(2 * room, LARGE) if 16 * unclear < last - first else room // 2
        return 0

    cdef inline bint _follow(self, Space space, Batch *batch, long node, long edge, size_t k) except -1:
        """Follow edge k of a batch, as `Space.follow` does. False if a table lacks something, or its target is to be
        examined, as all are that have properties to check.
        """
        cdef Successor *to = &batch.edges[k]
        cdef Successor *same
        if to.same == NONE:
            return False
        same = &batch.edges[to.same]
        if same.number == NONE and (self.checking or not self._has_plain_menu(space, batch, to.same)):
            return False
        self.entered += 1
        if self.entered % OFTEN == 0:
            space.tick()
        if same.number == NONE:
            if space.nodes >= self.limit or space.nodes % self.look_every == 0:
                self.states.admit()
            batch.number(to.same, space.record_node(node, space.move_of(node, edge).task, same.menu))
        space.target[edge] = same.number
        space.steps += to.steps + 1
        if to.above:
            self._note_above(space, node, space.move_of(node, edge).task, batch.above(k))
        return True

    cdef bint _has_plain_menu(self, Space space, Batch *batch, size_t k) except -1:
        """Whether the new state that edge k of a batch claims is settled, and there is nothing to examine about it."""
        cdef Successor *to = &batch.edges[k]
        if to.menu == NONE:
            if to.moves == NONE:
                return False
            to.menu = space.menu_of(batch.moves(k), to.count)
        return self._is_plain(space, to.menu)

    cdef int _follow_unclear(self, Space space, Batch *batch, long node, long edge) except -1:
        """Follow an edge that is unclear to the threads, or of which they have not heard."""
        cdef long nodes = space.nodes
        if batch == NULL:
            space.follow(node, edge)
            return 0
        self._flush(space, batch)
        try:
            space.follow(node, edge)
        finally:
            if space.nodes > nodes:
                batch.fulfil(self.walk.claim, nodes)
        batch.reserve()  # states may have become wider
        return 0

    cdef int _flush(self, Space space, Batch *batch) except -1:
        """Write the nodes that have been numbered."""
        batch.set_graph(space.node, space.target)
        with nogil:
            batch.flush()
        return 0

    cdef int _note_above(self, Space space, long node, int task, vector[uint32_t] tasks) except -1:
        """Note which of some tasks continued in a step since it ended the last of their children: those above."""
        above = tuple([each for each in tasks if space._above(task, each)])
        if above:
            space.note_resumption(node, task, above)
        return 0

    # ------------------------------------------------------------------------------------------ asking the machine

    cdef inline int _require(self, bint done) except -1:
        """Raise the error of the machine, which has been asked in the walk, unless this is done."""
        return 0 if done else -1

    cdef int _supply(self) except -1:
        """Supply what the walk lacks: a local step, the join of tasks that have ended, or the number of a task.

        InternalError if it lacks an end, since a task repeats invisible steps.
        """
        cdef Space space = self.states
        cdef vector[uint32_t] reads
        cdef Entry entry
        cdef uint32_t k, local
        missing = self.walk.missing
        self.version += 1
        if missing == AN_END:
            raise InternalError(f"task {space.paths[self.walk.lacking] or '0'} repeats invisible steps without end")
        if missing == A_TASK:
            path = space.paths[self.walk.lacking]
            child = space.task(f"{path}.{self.walk.among}" if path else str(self.walk.among))
            self.walk.children.put(self.walk.lacking, self.walk.among, child)
            return 0
        self.asked += 1
        if self.asked % OFTEN == 0:
            self.states.freeze()
        space.tick()
        if missing == A_JOIN:
            gone = [
                self._locals[self.walk.ends[self.walk.among][k]] for k in range(self.walk.ends.size(self.walk.among))
            ]
            joined = self.machine.local_join(self._locals[self.walk.lacking], gone)
            self.walk.joins.put(self.walk.lacking, self.walk.among, self._number(joined))
            return 0
        local = self.walk.here[self.walk.lacking]
        log = CellLog(self)
        choice = self.machine.local_step(self._locals[local], log)
        entry.visible = True
        if isinstance(choice, Blocked):
            entry.kind, entry.act = STUCK, self.states.act_of(choice)
        else:
            entry.visible = choice.visible
            entry.act = self.states.act_of(choice) if choice.visible else -1
            if isinstance(choice.next, Fault):
                entry.kind, entry.visible = FAULTS, True
            else:
                entry.kind = STEP
                self._preorder(choice.next, entry.next)
                for cell, value in log.changes:
                    if value is DROPPED:
                        entry.changes.push_back(Change(self._region(cell), NONE))
                    else:
                        entry.changes.push_back(Change(self._slot(cell), self._value(value)))
        for cell, value in log.reads.items():
            reads.push_back(self._cell(cell))
            reads.push_back(self._value(value))
        self.walk.entries.push_back(entry)
        if not self.walk.enter(local, reads, self.walk.entries.size() - 1):
            raise InternalError("a step reads other cells than it did, though those before are the same")
        return 0

    def get(self, cell, default):
        """The value of a cell in the state at hand."""
        number = self._celled.get(cell)
        if number is None:
            return default
        value = self._values[self.walk.value(number)]
        return default if value is ABSENT else value

    cdef uint32_t _value(self, value) except? 0xfffffffe:
        if value is ABSENT:
            return 0
        key = struct.pack("d", value) if type(value) is float else (type(value), value)
        number = self._valued.get(key)
        if number is None:
            number = self._valued[key] = len(self._values)
            self._values.append(value)
            path = self.machine.named_task(value) if self.walk.symmetric else None
            self.walk.holder.push_back(NONE if path is None else (<Space>self.states).task(path))
        return number

    cdef uint32_t _cell(self, cell) except? 0xfffffffe:
        number = self._celled.get(cell)
        if number is None:
            number = self._celled[cell] = len(self._cells)
            self._cells.append(cell)
            self.walk.given.push_back(0)
            self.walk.slot.push_back(NONE)
        return number

    cdef uint32_t _slot(self, cell) except? 0xfffffffe:
        """The slot of a cell, which some step writes from now on."""
        cdef uint32_t slot = self.walk.slot_of(self._cell(cell)), k
        if slot < len(self._slotted):
            return slot
        self._slotted.append(cell)
        for k, region in enumerate(self._regions):
            if region.includes(cell):
                self.walk.regions[k].push_back(slot)
        if self.walk.symmetric:
            path, bare = self.machine.split_cell(cell)
            owner = (<Space>self.states).task(path)
            self.walk.belongs.push_back(Slot(owner, self._bare(bare), self._bare((len(path.split(".")), bare))))
        return slot

    cdef uint32_t _bare(self, what) except? 0xfffffffe:
        """The number of something without the names of tasks."""
        return self._anonymous.setdefault(what, len(self._anonymous))

    cdef uint32_t _region(self, region) except? 0xfffffffe:
        number = self._regioned.get(region)
        if number is None:
            number = self._regioned[region] = len(self._regions)
            self._regions.append(region)
            self.walk.regions.resize(len(self._regions))
            for slot, cell in enumerate(self._slotted):
                if region.includes(cell):
                    self.walk.regions[number].push_back(slot)
        return number

    cdef uint32_t _number(self, tree) except? 0xfffffffe:
        """The number of a local, with the number of tasks below it."""
        key = tree.local, len(tree.below), tree.ended
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._locals)
            self._locals.append(tree.local)
            if self.walk.symmetric:
                self.walk.own.push_back(self._bare((self.machine.anonymize_local(tree.local), tree.ended)))
            self.walk.locals.push_back(Local(len(tree.below), tree.ended, NONE))
        return number

    cdef int _preorder(self, tree, vector[uint32_t] &into) except -1:
        into.push_back(self._number(tree))
        for each in tree.below:
            self._preorder(each, into)
        return 0

    # ---------------------------------------------------------------------------------------------------- whole states

    def name_after(self, long node, int task, long target):
        """The name of a task in the state of `target`, to which its step leads from a node; None if it is not there."""
        cdef Space space = self.states
        cdef uint32_t found
        self.walk.load(node)
        self._require(self.walk.advance(task) and self.walk.settle(task) and self.walk.canonicalize())
        found = self.walk.name_in(task, target)
        return None if found == NONE else space.paths[found]

    def state(self, long node):
        """The state of a node."""
        cdef uint32_t k
        self.walk.load(node)
        cells = {}
        for number, cell in enumerate(self._cells):
            value = self._values[self.walk.value(number)]
            if value is not ABSENT:
                cells[cell] = value
        tree, _ = self._tree(0)
        return self.machine.global_state(tree, cells)

    cdef tuple _tree(self, uint32_t at):
        number = self.walk.here[at]
        local = self.walk.locals[number]
        at += 1
        below = []
        for _ in range(local.below):
            child, at = self._tree(at)
            below.append(child)
        return Tree(self._locals[number], tuple(below), local.ended), at

    def size_in_bytes(self):
        """The bytes that the packed states and the tables hold."""
        return self.walk.bytes()


cdef int _supply(void *tables) except -1:
    """Supply what the walk of some tables lacks."""
    return (<Tables>tables)._supply()
