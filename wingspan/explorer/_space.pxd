cpdef enum:
    UNKNOWN = -1  # a target that has not been computed
    FAULT = -2    # the step faults
    BLOCKED = -3  # the task waits for a lock

cdef enum:  # the relations of two acts
    KNOWN = 1     # it has been computed
    CONFLICT = 2  # they access one cell, and not both only read it
    RACE = 4      # and not both of them atomically
    ORDER = 8     # they conflict only because one releases the lock that the other acquires
    LOCKS = 16    # both acquire one lock
    REPORTED = 32     # `racing` has returned a pair of steps that do this

cdef extern from "graph.h":
    ctypedef struct Node "WingspanNode":
        long first   # the first of its edges
        int by       # the task that stepped when it was found, from
        int parent   # this node; -1 for the first one
        int menu     # the number of the list of its next steps
    ctypedef struct Move "WingspanMove":  # a next step, in a menu: one for each edge of the nodes that have it
        int task
        int act
        int target   # at the beginning: UNKNOWN, FAULT or BLOCKED
    ctypedef struct Menu "WingspanMenu":
        unsigned int begin  # of its moves
        bint plain
    ctypedef struct Menus "WingspanMenus":
        Move *move
        Menu *menu
        int *slots
        int count
        unsigned int room, room_moves, size
    int complete_menu "wingspan_complete_menu"(Menus *) nogil

cdef void *more(void *old, long bytes) except NULL  # realloc, or MemoryError


cdef class Space


cdef class Walker:
    cdef long enter(self, Space space, long node, int task) except -10


cdef class Space:
    cdef public Walker walker
    cdef Node *node
    cdef int *target            # of each edge
    cdef Menus menus
    cdef long *resumed          # pairs of an edge and the number of its resumption, by hash; -1 if there is none
    cdef long *touches          # act k touches cell[q] for touches[k] <= q < touches[k + 1]
    cdef int *cell
    cdef unsigned char *effect
    cdef unsigned char *relations
    cdef int *up                # the task that spawned a task; -1 for the root
    cdef readonly long nodes, edges
    cdef readonly int acts, tasks
    cdef long room_nodes, room_edges, room_touches, resumed_edges, room_resumed
    cdef int room_acts, room_tasks, width
    cdef public long steps, expanded
    cdef readonly list paths, resumptions
    cdef dict _tasks, _resumptions

    cpdef int task(self, str path) except -1
    cpdef int new_act(self, list cells, list effects) except -1
    cpdef long new_node(self, long parent, int by) except -1
    cpdef long new_edge(self, int task, int act, long target) except -1
    cdef bint has_new_race(self, int menu) noexcept
    cdef bint _race_anew(self, Move one, Move other) noexcept
    cdef int relation(self, int one, int other) noexcept
    cdef int _compare(self, int one, int other) noexcept
    cdef bint related(self, int one, int other) noexcept
    cdef long edge_of(self, long node, int task) noexcept
    cdef long follow(self, long node, long edge) except -10
    cpdef long enter(self, long node, int task) except -10
    cdef inline long degree(self, long node) noexcept:
        """The number of edges of a node."""
        return self.menus.menu[self.node[node].menu + 1].begin - self.menus.menu[self.node[node].menu].begin

    cdef inline Move *moves_of(self, long node) noexcept:
        """The next steps at a node, one for each of its edges. The pointer is valid until the next node is added."""
        return self.menus.move + self.menus.menu[self.node[node].menu].begin

    cdef inline Move move_of(self, long node, long edge) noexcept:
        """The step of an edge of a node."""
        return self.moves_of(node)[edge - self.node[node].first]

    cdef long record_node(self, long parent, int by, int menu) except -1
    cdef long add_node(self, long parent, int by, int menu) except -1
    cdef int _append_move(self, Move move) except -1
    cdef int menu_of(self, const Move *moves, unsigned int count) except -1
    cdef int _complete_menu(self) except -1
    cdef int close_menu(self) except -1
    cdef int resumption_of(self, long edge) noexcept
    cdef int _resumed(self, long edge, tuple tasks) except -1
    cdef int _check_resumed(self, int task, tuple tasks) except -1
    cdef bint _above(self, int task, int other) noexcept
