"""The visited states of a search, as numbers: the strategies walk on them, whatever the machine.

A *node* is a state in which all invisible steps have been taken; 0 is the first one. Its *edges* are
the tasks that have not finished: each with the *act* that comes next, and the node that it leads to. An act is the
effect of a step on others: the cells that it accesses, and how. Tasks, acts and cells are numbers, too. The tasks and
acts of a node's edges are its *menu*; many nodes have the same.

The machine is asked once for each edge that a search follows, so a strategy that walks the same path many times
pays for it in additions. Subclasses provide nodes, by `enter`.
"""

from hashlib import sha256

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset

from wingspan.explorer.prefix_tree import Astray

EFFECTS = ("read", "look", "write", "atomic", "acquire", "release")
"""`wingspan.explorer.machine.Effect` by number; those before `write` leave the cell unchanged."""

cdef enum:
    READ = 0
    LOOK = 1
    WRITE = 2
    ACQUIRE = 4
    RELEASE = 5

cdef long OFTEN = 1024  # the number of nodes counted between two ticks
cdef long MOST = 2**31 - 1  # the largest number of nodes, which `int` numbers
cdef int MOST_ACTS = 2**28 - 1  # the largest number of acts, which a move has bits for
cdef int WIDEST = 4096  # the relations of this many acts are kept; those of others are computed each time


cdef void *more(void *old, long bytes) except NULL:
    cdef void *new = realloc(old, bytes)
    if new == NULL:
        raise MemoryError
    return new


cdef class Walker:
    """Enters the nodes of a space in its place, if it has one."""

    cdef long enter(self, Space space, long node, int task) except -10:
        raise NotImplementedError


cdef class Space:
    """An empty space. Subclasses add the first node by `new_node`, its edges by `new_edge`, and others in `enter`."""

    def __cinit__(self):
        self.room_nodes = self.room_edges = self.room_touches = 64
        self.room_acts = self.room_tasks = self.width = self.room_resumed = 64
        self.node = <Node *>more(NULL, 64 * sizeof(Node))
        self.target = <int *>more(NULL, 64 * sizeof(int))
        self.menus.room = self.menus.room_moves = self.menus.size = 64
        self.menus.move = <Move *>more(NULL, 64 * sizeof(Move))
        self.menus.menu = <Menu *>more(NULL, 64 * sizeof(Menu))
        self.menus.menu[0].begin = self.menus.menu[1].begin = 0
        self.menus.slots = <int *>more(NULL, 64 * sizeof(int))
        memset(self.menus.slots, -1, 64 * sizeof(int))
        self.resumed = <long *>more(NULL, 2 * 64 * sizeof(long))
        memset(self.resumed, -1, 2 * 64 * sizeof(long))
        self.touches = <long *>more(NULL, 65 * sizeof(long))
        self.cell = <int *>more(NULL, 64 * sizeof(int))
        self.effect = <unsigned char *>more(NULL, 64)
        self.up = <int *>more(NULL, 64 * sizeof(int))
        self.relations = <unsigned char *>calloc(64 * 64, 1)
        if self.relations == NULL:
            raise MemoryError
        self.touches[0] = 0
        self.paths, self._tasks = [], {}
        self.resumptions, self._resumptions = [()], {(): 0}
        self.task("")

    def __dealloc__(self):
        for pointer in (<size_t>self.node, <size_t>self.target, <size_t>self.menus.move, <size_t>self.menus.menu,
                        <size_t>self.menus.slots, <size_t>self.resumed, <size_t>self.touches, <size_t>self.cell,
                        <size_t>self.effect, <size_t>self.up, <size_t>self.relations):
            free(<void *><size_t>pointer)

    # -------------------------------------------------------------------------------------------------- construction

    cpdef int task(self, str path) except -1:
        """The number of the task with a path."""
        cdef int parent, made
        found = self._tasks.get(path)
        if found is not None:
            return found
        parent = self.task(path.rpartition(".")[0]) if path else -1
        made = self.tasks
        if made == self.room_tasks:
            self.room_tasks *= 2
            self.up = <int *>more(self.up, self.room_tasks * sizeof(int))
        self.up[made] = parent
        self._tasks[path] = made
        self.paths.append(path)
        self.tasks += 1
        return made

    cpdef int new_act(self, list cells, list effects) except -1:
        """The number of a new act, which accesses each of the cells (numbers) in one of `EFFECTS` (numbers)."""
        cdef long end = self.touches[self.acts]
        cdef int k
        if self.acts == MOST_ACTS:
            raise MemoryError
        if self.acts == self.room_acts:
            self.room_acts *= 2
            self.touches = <long *>more(self.touches, (self.room_acts + 1) * sizeof(long))
        while end + len(cells) > self.room_touches:
            self.room_touches *= 2
            self.cell = <int *>more(self.cell, self.room_touches * sizeof(int))
            self.effect = <unsigned char *>more(self.effect, self.room_touches)
        for k in range(len(cells)):
            self.cell[end + k] = cells[k]
            self.effect[end + k] = effects[k]
        self.acts += 1
        self.touches[self.acts] = end + len(cells)
        return self.acts - 1

    cpdef long new_node(self, long parent, int by) except -1:
        """A new node, found by a step of the task `by` from `parent`. Its edges are those added before the next one."""
        if self.nodes:
            self.close_menu()
        if self.nodes == MOST:
            raise MemoryError
        if self.nodes == self.room_nodes:
            self.node = <Node *>more(self.node, 2 * self.room_nodes * sizeof(Node))
            self.room_nodes *= 2
        cdef Node *new = &self.node[self.nodes]
        new.first, new.by, new.parent, new.menu = self.edges, by, parent, self.menus.count
        self.nodes += 1
        return self.nodes - 1

    cdef long record_node(self, long parent, int by, int menu) except -1:
        """A new node, with a menu that other nodes have. The targets of its edges are not written yet."""
        cdef long node = Space.new_node(self, parent, by)
        self.node[node].menu = menu
        self.edges += self.degree(node)
        while self.edges > self.room_edges:
            self.target = <int *>more(self.target, 2 * self.room_edges * sizeof(int))
            self.room_edges *= 2
        return node

    cdef long add_node(self, long parent, int by, int menu) except -1:
        """A new node with edges as those of other nodes with this menu were at first."""
        cdef long node = self.record_node(parent, by, menu), k
        for k in range(self.degree(node)):
            self.target[self.node[node].first + k] = self.moves_of(node)[k].target
        return node

    cpdef long new_edge(self, int task, int act, long target) except -1:
        """An edge of the newest node: the next act of `task`, and the target if it is known, or FAULT or BLOCKED."""
        if self.edges == self.room_edges:
            self.target = <int *>more(self.target, 2 * self.room_edges * sizeof(int))
            self.room_edges *= 2
        self.target[self.edges] = target
        self._append_move(Move(task, act, target if target < 0 else UNKNOWN))
        self.edges += 1
        return self.edges - 1

    cdef int _append_move(self, Move move) except -1:
        """Append a move to the menu that is not complete."""
        cdef unsigned int end = self.menus.menu[self.menus.count + 1].begin
        if end == self.menus.room_moves:
            if end > MOST // 2:
                raise MemoryError
            self.menus.move = <Move *>more(self.menus.move, 2 * <long>end * sizeof(Move))
            self.menus.room_moves *= 2
        self.menus.move[end] = move
        self.menus.menu[self.menus.count + 1].begin = end + 1
        return 0

    cdef int menu_of(self, const Move *moves, unsigned int count) except -1:
        """The number of the menu with some moves. The newest node must have all of its edges."""
        cdef unsigned int k
        for k in range(count):
            self._append_move(moves[k])
        return self._complete_menu()

    cdef int _complete_menu(self) except -1:
        cdef int number = complete_menu(&self.menus)
        if number < 0:
            raise MemoryError
        return number

    cdef int close_menu(self) except -1:
        """The newest node has all of its edges: from now on it shares the menu of an earlier node that has the same."""
        if self.node[self.nodes - 1].menu == self.menus.count:
            self.node[self.nodes - 1].menu = self._complete_menu()
        return 0

    cdef int _resumed(self, long edge, tuple tasks) except -1:
        """Record which tasks continued in a step because it ended the last of their children."""
        if not 0 <= edge < self.edges:
            raise IndexError(f"there is no edge {edge}")
        number = self._resumptions.setdefault(tasks, len(self.resumptions))
        if number == len(self.resumptions):
            self.resumptions.append(tasks)
        if number == self.resumption_of(edge):
            return number
        cdef long *old = self.resumed
        cdef unsigned long k, slot, mask
        if 2 * (self.resumed_edges + 1) > self.room_resumed:
            self.resumed = <long *>more(NULL, 4 * self.room_resumed * sizeof(long))
            memset(self.resumed, -1, 4 * self.room_resumed * sizeof(long))
            mask = 2 * self.room_resumed - 1
            for k in range(self.room_resumed):
                if old[2 * k] >= 0:
                    slot = <unsigned long>old[2 * k] * <unsigned long>0x9E3779B97F4A7C15 >> 20 & mask
                    while self.resumed[2 * slot] >= 0:
                        slot = (slot + 1) & mask
                    self.resumed[2 * slot], self.resumed[2 * slot + 1] = old[2 * k], old[2 * k + 1]
            self.room_resumed *= 2
            free(old)
        mask = self.room_resumed - 1
        slot = <unsigned long>edge * <unsigned long>0x9E3779B97F4A7C15 >> 20 & mask
        while self.resumed[2 * slot] >= 0 and self.resumed[2 * slot] != edge:
            slot = (slot + 1) & mask
        self.resumed_edges += self.resumed[2 * slot] < 0
        self.resumed[2 * slot], self.resumed[2 * slot + 1] = edge, number
        return number

    cdef int resumption_of(self, long edge) noexcept:
        """The number of the tuple of tasks that continued because the step of an edge ended the last of their children."""
        cdef unsigned long mask = self.room_resumed - 1
        cdef unsigned long slot = <unsigned long>edge * <unsigned long>0x9E3779B97F4A7C15 >> 20 & mask
        while self.resumed[2 * slot] >= 0:
            if self.resumed[2 * slot] == edge:
                return self.resumed[2 * slot + 1]
            slot = (slot + 1) & mask
        return 0

    # ------------------------------------------------------------------------------------------------------- queries

    cdef int relation(self, int one, int other) noexcept:
        """The relation of two acts: CONFLICT and so on."""
        cdef int wider = self.width
        cdef unsigned char *kept
        if one >= self.width or other >= self.width:
            while wider <= one or wider <= other:
                wider *= 2
            if wider > WIDEST:
                return self._compare(one, other)
            kept = <unsigned char *>calloc(<size_t>wider * wider, 1)
            if kept == NULL:
                return self._compare(one, other)
            for k in range(self.width):
                for n in range(self.width):
                    kept[k * wider + n] = self.relations[k * self.width + n]
            free(self.relations)
            self.relations, self.width = kept, wider
        kept = self.relations + (<size_t>one * self.width + other)
        if not kept[0]:
            kept[0] = self._compare(one, other)
        return kept[0]

    cdef int _compare(self, int one, int other) noexcept:
        cdef long p, q
        cdef int found = KNOWN, a, b
        cdef bint others = False, ordered = False
        for p in range(self.touches[one], self.touches[one + 1]):
            for q in range(self.touches[other], self.touches[other + 1]):
                a, b = self.effect[p], self.effect[q]
                if self.cell[p] != self.cell[q] or (a < WRITE and b < WRITE):
                    continue
                found |= CONFLICT
                if a in (READ, WRITE) or b in (READ, WRITE):
                    found |= RACE
                if a == ACQUIRE and b == ACQUIRE:
                    found |= LOCKS
                if (a == ACQUIRE and b == RELEASE) or (a == RELEASE and b == ACQUIRE):
                    ordered = True
                else:
                    others = True
        return found | ORDER if ordered and not others else found

    cdef bint related(self, int one, int other) noexcept:
        """Whether one task is the other, or descends from it: then the two never run side by side."""
        cdef int t = one
        while t >= 0:
            if t == other:
                return True
            t = self.up[t]
        t = other
        while t >= 0:
            if t == one:
                return True
            t = self.up[t]
        return False

    cdef long edge_of(self, long node, int task) noexcept:
        """The edge of a task; -1 if it has finished or waits for its children."""
        cdef long e
        if not 0 <= node < self.nodes:
            return -1
        for e in range(self.degree(node)):
            if self.moves_of(node)[e].task == task:
                return self.node[node].first + e
        return -1

    cdef long follow(self, long node, long edge) except -10:
        """The node that an edge leads to; FAULT or BLOCKED if it leads to none."""
        cdef long target
        if not 0 <= edge < self.edges:
            raise IndexError(f"there is no edge {edge}")
        target = self.target[edge]
        if target == UNKNOWN:
            if self.walker is None:
                target = self.enter(node, self.move_of(node, edge).task)
            else:
                target = self.walker.enter(self, node, self.move_of(node, edge).task)
            self.target[edge] = target
            self.steps += 1
        return target

    cpdef long enter(self, long node, int task) except -10:
        """The node to which a step of a task leads, which does not fault: new, or known."""
        raise NotImplementedError

    def tick(self):
        """Raises what ends a search. Walks on known nodes call it only now and then, `enter` calls it each time."""

    # ---------------------------------------------------------------------------------------------------- for Python

    def note_resumption(self, long node, int task, tuple tasks):
        """Record which tasks (numbers) continued in a step of `task` because it ended the last of their children."""
        self._resumed(self.edge_of(node, task), tasks)

    def ended(self, long node, int task):
        """Whether the step of a task, which has been followed, ends it, so that a waiting task continues."""
        cdef long edge = self.edge_of(node, task)
        if edge < 0:
            raise IndexError(f"task {task} does not step at node {node}")
        return self.resumption_of(edge) != 0

    def race(self, int one, int other):
        """Whether two acts race."""
        return bool(self.relation(one, other) & RACE)

    def conflict(self, int one, int other):
        """Whether the order of two acts matters."""
        return bool(self.relation(one, other) & CONFLICT)

    cdef bint has_new_race(self, int menu) noexcept:
        """Whether `racing` has a pair to report at a node with a menu."""
        cdef Move *move = self.menus.move + self.menus.menu[menu].begin
        cdef long p, q, last = self.menus.menu[menu + 1].begin - self.menus.menu[menu].begin
        for p in range(last):
            for q in range(p + 1, last):
                if self._race_anew(move[p], move[q]):
                    return True
        return False

    cdef bint _race_anew(self, Move one, Move other) noexcept:
        """Whether two next steps race, and no other pair that does the same has been reported."""
        if one.target == BLOCKED or other.target == BLOCKED:
            return False
        return self.relation(one.act, other.act) & (RACE | REPORTED) == RACE

    def racing(self, long node):
        """The pairs of tasks whose next steps race here, if no other pair did the same at a node before."""
        cdef long p, q, last = self.degree(node)
        cdef Move *move = self.moves_of(node)
        pairs = []
        for p in range(last):
            for q in range(p + 1, last):
                if self._race_anew(move[p], move[q]):
                    pairs.append((self.paths[move[p].task], self.paths[move[q].task]))
                    self._mark_reported(move[p].act, move[q].act)
        return pairs

    def _mark_reported(self, int one, int other):
        if one < self.width and other < self.width:
            self.relations[<size_t>one * self.width + other] |= REPORTED
            self.relations[<size_t>other * self.width + one] |= REPORTED | self.relation(one, other)

    def moves(self, long node):
        """The next steps at a node: for each task its number, its act, and the target as far as it is known."""
        cdef long e
        if not 0 <= node < self.nodes:
            raise IndexError(f"there is no node {node}")
        return [
            (self.moves_of(node)[e].task, self.moves_of(node)[e].act, self.target[self.node[node].first + e])
            for e in range(self.degree(node))
        ]

    def go(self, long node, int task):
        """The node to which a task that can step leads; FAULT if the step faults."""
        return self.follow(node, self.edge_of(node, task))

    def flood(self, long most=-1):
        """Follow all edges, breadth first, until none is left, or this many nodes have been found: whether none is
        left.

        If nothing else has walked here, nodes are numbered by their distance from the first.
        """
        cdef long e, last
        while self.expanded < self.nodes:
            if 0 <= most <= self.nodes:
                return False
            PyErr_CheckSignals()
            e = self.node[self.expanded].first
            last = e + self.degree(self.expanded)
            while e < last:
                if self.target[e] > FAULT:
                    self.follow(self.expanded, e)
                e += 1
            self.expanded += 1
        return True

    def tally(self, set wanted, last_nodes=frozenset()):
        """For each of the nodes the number of paths to it, and its probability if tasks are picked at random. Paths
        that go on from one of `last_nodes` do not count.

        All edges must have been followed. Exceptions of `tick` end it. Paths are counted along a topological order
        (Kahn 1962), and exactly.
        """
        cdef long n, e, target, seen = 0, last
        cdef int able
        cdef long *missing = <long *>calloc(self.nodes, sizeof(long))
        cdef double *chance = <double *>calloc(self.nodes, sizeof(double))
        cdef list ways = [0] * self.nodes, ready = []
        try:
            if missing == NULL or chance == NULL:
                raise MemoryError
            for e in range(self.edges):
                if self.target[e] >= 0:
                    missing[self.target[e]] += 1
            ways[0], chance[0] = 1, 1.0
            if not missing[0]:
                ready.append(0)
            found = {}
            while ready:
                n = ready.pop()
                seen += 1
                if not seen % OFTEN:
                    self.tick()
                here, ways[n] = ways[n], None
                if n in wanted:
                    found[n] = (here, chance[n])
                if n in last_nodes:
                    here, chance[n] = 0, 0.0
                e, last = self.node[n].first, self.node[n].first + self.degree(n)
                able = 0
                for e in range(e, last):
                    able += self.target[e] != BLOCKED
                for e in range(self.node[n].first, last):
                    target = self.target[e]
                    if target < 0:
                        continue
                    ways[target] += here
                    chance[target] += chance[n] / able
                    missing[target] -= 1
                    if not missing[target]:
                        ready.append(target)
            if seen < self.nodes:
                raise Astray("a run comes back to a state it was in: the machine does not terminate")
            return found
        finally:
            free(missing)
            free(chance)

    def size_in_bytes(self):
        """The bytes that nodes, edges and their menus take."""
        return (
            self.nodes * sizeof(Node) + self.edges * sizeof(int)
            + self.menus.menu[self.menus.count + 1].begin * sizeof(Move) + self.menus.count * sizeof(Menu)
            + self.menus.size * sizeof(int) + 2 * self.room_resumed * sizeof(long)
        )

    def way(self, long node):
        """The paths of the tasks that step on the way on which a node was found."""
        tasks = []
        if not 0 <= node < self.nodes:
            raise IndexError(f"there is no node {node}")
        while self.node[node].parent >= 0:
            tasks.append(self.paths[self.node[node].by])
            node = self.node[node].parent
        return tasks[::-1]

    # ----------------------------------------------------------------------------------------------- saved, and resumed

    def keep(self):
        """Everything that entering the nodes again in their order does not determine, as bytes by name.

        For each node `parents` (int64) and `by` (int32): where it was found, and by whose step. For each edge `targets`
        (int64) and `resumed` (int32): where it leads, and which of the `resumptions` it is.
        """
        cdef bytes parents = PyBytes_FromStringAndSize(NULL, self.nodes * sizeof(int64_t))
        cdef bytes by = PyBytes_FromStringAndSize(NULL, self.nodes * sizeof(int32_t))
        cdef bytes targets = PyBytes_FromStringAndSize(NULL, self.edges * sizeof(int64_t))
        cdef bytes resumed = PyBytes_FromStringAndSize(NULL, self.edges * sizeof(int32_t))
        cdef long n, e
        for n in range(self.nodes):
            (<int64_t *>PyBytes_AS_STRING(parents))[n] = self.node[n].parent
            (<int32_t *>PyBytes_AS_STRING(by))[n] = self.node[n].by
        for e in range(self.edges):
            (<int64_t *>PyBytes_AS_STRING(targets))[e] = self.target[e]
            (<int32_t *>PyBytes_AS_STRING(resumed))[e] = self.resumption_of(e)
        return {"parents": parents, "by": by, "targets": targets, "resumed": resumed}

    def shape(self):
        """A digest of the edges of all nodes, without their targets: it differs if tasks take other steps."""
        cdef long n, e
        cdef bytes shape = PyBytes_FromStringAndSize(NULL, (self.nodes + 2 * self.edges) * sizeof(int32_t))
        cdef int32_t *at = <int32_t *>PyBytes_AS_STRING(shape)
        cdef int32_t *moves = at + self.nodes
        for n in range(self.nodes):
            at[n] = self.degree(n)
            for e in range(self.degree(n)):
                moves[0], moves[1] = self.moves_of(n)[e].task, self.moves_of(n)[e].act
                moves += 2
        return sha256(shape).hexdigest()

    def reenter(self, bytes parents, bytes by):
        """Enter the nodes of `keep` again, after node 0 has been entered. ValueError if they differ."""
        cdef const int64_t *parent = <const int64_t *>PyBytes_AS_STRING(parents)
        cdef const int32_t *task = <const int32_t *>PyBytes_AS_STRING(by)
        cdef long n, e, count = len(parents) // sizeof(int64_t)
        if len(by) != count * <long>sizeof(int32_t) or count < 1 or parent[0] != -1 or task[0] != -1:
            raise ValueError("the nodes do not begin with the first one")
        for n in range(1, count):
            e = self.edge_of(parent[n], task[n]) if 0 <= parent[n] < n else -1
            if e < 0 or self.target[e] != UNKNOWN or self.follow(parent[n], e) != n:
                raise ValueError(f"node {n} is not found as it was")

    def claims(self, bytes targets):
        """The edges that `keep` has followed and this space has not. ValueError if they do not fit what it knows."""
        cdef const int64_t *claimed = <const int64_t *>PyBytes_AS_STRING(targets)
        cdef long e
        cdef list found = []
        if len(targets) != self.edges * <long>sizeof(int64_t):
            raise ValueError("the number of edges differs")
        for e in range(self.edges):
            if self.target[e] == UNKNOWN and 0 <= claimed[e] < self.nodes:
                found.append(e)
            elif claimed[e] != self.target[e]:
                raise ValueError(f"edge {e} leads elsewhere")
        return found

    def confirm(self, set checked, bytes targets, bytes resumed, list resumptions):
        """Record the targets of the edges of `keep`: of those `checked` after following them, of others unseen.

        ValueError if one leads elsewhere, or if other tasks continued there.
        """
        cdef const int64_t *target = <const int64_t *>PyBytes_AS_STRING(targets)
        cdef const int32_t *number = <const int32_t *>PyBytes_AS_STRING(resumed)
        cdef long n, e, nodes = self.nodes
        if len(resumed) != self.edges * <long>sizeof(int32_t):
            raise ValueError("the number of edges differs")
        for n in range(nodes):
            for e in range(self.node[n].first, self.node[n].first + self.degree(n)):
                if not 0 <= number[e] < len(resumptions) or (target[e] < 0 and number[e]):
                    raise ValueError(f"nobody goes on after edge {e}")
                if target[e] < 0:
                    continue
                tasks = resumptions[number[e]]
                if self.target[e] == UNKNOWN and e not in checked:
                    self._check_resumed(self.move_of(n, e).task, tasks)
                    self.target[e] = target[e]
                    self._resumed(e, tasks)
                elif self.follow(n, e) != target[e] or self.resumptions[self.resumption_of(e)] != tasks:
                    raise ValueError(f"edge {e} leads elsewhere")
        while self.expanded < nodes and all(move[2] != UNKNOWN for move in self.moves(self.expanded)):
            self.expanded += 1

    cdef int _check_resumed(self, int task, tuple tasks) except -1:
        """ValueError unless each of the tasks is above the one before, the first above `task`."""
        for above in tasks:
            if not 0 <= above < self.tasks or above == task or not self._above(task, above):
                raise ValueError(f"{above} does not wait for {task}")
            task = above
        return 0

    cdef bint _above(self, int task, int other) noexcept:
        while task >= 0 and task != other:
            task = self.up[task]
        return task == other
