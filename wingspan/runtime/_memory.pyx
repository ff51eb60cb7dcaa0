"""The memory of a run: the buffers of all instances, for any kind of plan, and the threads that run it.

Instances are known by their addresses, which are valid as long as their memory. runtime.h describes the runtime.
Arguments are trusted: callers check them.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyObject_GetBuffer, PyBuffer_Release
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals, PyErr_SetInterrupt
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from wingspan.runtime._lending cimport Lent, Loan
from wingspan.runtime.runtime cimport *
from wingspan.tensors._gather cimport MOST, Claimed, Numbers


cdef class Piece:
    """The contents of one buffer of an input: an array with one axis, in one piece, which is not empty.

    `root` is the group of the tensor's root, `way` are the (group, key) from there to the buffer's instance, `number`
    is that of the buffer. A `lent` array is read in place, whatever its width, and a cell's value is its number +
    shift; otherwise the array is as wide as the buffer, and copied. Of a hashed buffer, cells `at` hold the numbers in
    the array.
    """

    def __cinit__(self, int64_t root, tuple way, int64_t number, array, bint lent, int64_t shift=0, at=None):
        self.root, self.way, self.number, self.array, self.lent = root, way, number, array, lent
        self.shift, self.at = shift, at
        if lent:
            self.width = FORMATS[array.dtype.char]


cdef class Memory:
    """The buffers of a run, which are freed with the object.

    Groups are (parent or -1, keys, buffers), buffers are (width, hashed, bound, kept), as in `plan`; `limit` and `reservation`
    are in bytes.
    """

    def __cinit__(self, groups, uint64_t limit, uint64_t reservation):
        cdef int64_t i, k = 0
        self.count = len(groups)
        self.groups = <ws_group *>calloc(self.count + 1, sizeof(ws_group))
        self.shapes = <ws_shape *>calloc(sum(len(buffers) for _, _, buffers in groups) + 1, sizeof(ws_shape))
        if self.groups == NULL or self.shapes == NULL:
            raise MemoryError
        for i, (parent, keys, buffers) in enumerate(groups):
            self.groups[i].parent, self.groups[i].keys, self.groups[i].buffers = parent, keys, len(buffers)
            self.groups[i].shapes = &self.shapes[k]
            for width, hashed, bound, kept in buffers:
                self.shapes[k].width = WIDTHS.index(width)
                self.shapes[k].hashed, self.shapes[k].bound, self.shapes[k].kept = hashed, bound, kept
                k += 1
        self.opened = ws_open(&self.state, self.groups, self.count)
        self.state.limit, self.state.reservation = limit, reservation
        self.state.reclaim = reclaim
        self.outside.run = &self.state
        self.borrowed = []

    def __dealloc__(self):
        if self.opened:
            __atomic_sub_fetch(self.state.spare, self.spare, __ATOMIC_RELAXED)
            ws_close(&self.state)
        free(self.groups)
        free(self.shapes)

    @property
    def committed(self):
        """The bytes that are counted as used."""
        return self.state.committed

    def rest(self):
        """Count as spare, and forget what was borrowed, until the memory is `reset`."""
        self.spare = self.state.committed
        __atomic_add_fetch(self.state.spare, self.spare, __ATOMIC_RELAXED)
        self.borrowed = []

    def reset(self, uint64_t limit):
        """Make all cells zero, except those that are kept, for another run; whether it may use as much as there is."""
        __atomic_sub_fetch(self.state.spare, self.spare, __ATOMIC_RELAXED)
        self.spare = 0
        with nogil:
            ws_reset(&self.state)
        self.state.limit = limit
        return ws_charge(&self.state, 0)

    def fault(self):
        """Why the last call failed: the fault and its two values."""
        return self.outside.fault, self.outside.values[0].i, self.outside.values[1].i

    def root(self, int64_t group):
        """The one instance of a group without a parent; 0 if there is no room for it."""
        return <uintptr_t>ws_root(&self.outside, group)

    def hand(self, tuple pieces):
        """Let buffers hold what is given; the number of pieces for which there is room."""
        cdef Piece piece
        cdef int64_t count = 0
        for piece in pieces:
            if not self.place(piece):
                break
            count += 1
        return count

    def lend(self, Lent lent):
        """Let buffers read what is lent to them; false if there is no room for the roots of their tensors."""
        cdef int64_t k
        cdef const Loan *loan
        cdef ws_instance *x
        for k in range(lent.count):
            loan = &lent.loans[k]
            x = ws_root(&self.outside, loan.root)
            if x == NULL:
                return False
            ws_borrow(&x.buffers[loan.number], loan.cells, loan.count, loan.width, 0)
        self.borrowed.append(lent)
        return True

    cdef bint place(self, Piece piece) except -1:
        cdef ws_instance *x = ws_root(&self.outside, piece.root)
        for group, key in piece.way:
            if x == NULL:
                return False
            x = ws_child(&self.outside, group, x, key)
        if x == NULL:
            return False
        cdef ws_buffer *b = &x.buffers[piece.number]
        if piece.at is not None:
            return self.scatter(b, piece.at, piece.array)
        cdef Py_buffer view
        PyObject_GetBuffer(piece.array, &view, PyBUF_SIMPLE)
        cdef bint good = True
        if piece.lent:
            ws_borrow(b, view.buf, view.len // ws_bytes[piece.width], piece.width, piece.shift)
            self.borrowed.append(piece.array)
        else:
            good = self.fill(b, view.buf, view.len)
        PyBuffer_Release(&view)
        return good

    cdef bint fill(self, ws_buffer *b, const void *contents, size_t bytes):
        """Copy the bytes of the cells from 1 on into a buffer; false if there is no room."""
        if not ws_grow(&self.outside, b, bytes // ws_bytes[b.width]):
            return False
        with nogil:
            memcpy(b.data, contents, bytes)
        return True

    cdef bint scatter(self, ws_buffer *b, const int64_t[::1] at, const int64_t[::1] values) except -1:
        """Set some cells of a hashed buffer; false if there is no room."""
        cdef ws_value x
        cdef Py_ssize_t k
        for k in range(len(at)):
            x.i = values[k]
            if not ws_store(&self.outside, b, at[k], x, WS_PLAIN):
                return False
        return True

    def instances(self):
        """(instance, group, parent or 0, key) of all instances that this run has used."""
        cdef ws_instance *x = self.state.instances
        found = []
        while x != NULL:
            if x.used:
                found.append((<uintptr_t>x, x.group - self.groups, <uintptr_t>x.parent, x.key))
            x = x.made_before
        return found

    def counts(self, uintptr_t instance):
        """The numbers of cells of all buffers of an instance; of a hashed one that of its cells that are not zero."""
        cdef ws_instance *x = <ws_instance *>instance
        cdef int64_t k
        return [
            x.buffers[k].cells if x.buffers[k].width != WS_HASHED else len(self.entries(instance, k)) // sizeof(ws_entry)
            for k in range(x.group.buffers)
        ]

    def entries(self, uintptr_t instance, int64_t number):
        """The (cell, value) of a hashed buffer's cells that are not zero, as bytes of 64-bit integers."""
        cdef ws_hash *h = (<ws_instance *>instance).buffers[number].hash
        cdef bytearray found = bytearray()
        cdef uint64_t k
        if h != NULL:
            for k in range(h.mask + 1):
                if h.entries[k].key and h.entries[k].value:
                    found += PyBytes_FromStringAndSize(<const char *>&h.entries[k], sizeof(ws_entry))
        return bytes(found)

    cdef ws_instance *instance(self, int64_t group, ws_instance *parent, int64_t key) noexcept:
        """The instance of a group with a key in another, if this run has used it; else NULL."""
        cdef ws_instance *x = self.state.instances
        while x != NULL and not (x.group == &self.groups[group] and x.parent == parent and x.key == key and x.used):
            x = x.made_before
        return x

    def cells_near_root(self, int64_t root, int64_t group, int64_t key, int64_t number, owner):
        """The `cells` of a buffer of a tensor's root, or of the instance with a key right below it; None if it has none."""
        cdef ws_instance *x = self.instance(root, NULL, -1)
        if x != NULL and group != root:
            x = self.instance(group, x, key)
        if x == NULL or x.buffers[number].width == WS_HASHED or x.buffers[number].cells == 0:
            return None
        return self.cells(<uintptr_t>x, number, owner)

    def cells(self, uintptr_t instance, int64_t number, owner):
        """The cells of a buffer from 1 on, in a form that NumPy takes without copying; `owner` lives as long."""
        cdef Cells made = Cells.__new__(Cells)
        made.buffer = &(<ws_instance *>instance).buffers[number]
        made.owner = owner
        made.shape = made.buffer.cells
        return made

    def claimed_columns(
        self, int64_t root, claims, int64_t group, buffers, int64_t least, int64_t columns, int64_t width, owner
    ):
        """The columns of a matrix of SparseLists around the leaf, and the instances that have these, by number; None if
        there are others.

        `claims` are the buffers of the root, in `group` or one whose instances have its keys, that say which thread's
        list has a column; None if there is but one list. `buffers` are those of the pointers, which count from 1, the
        indices, which count from `least`, and the elements.
        """
        cdef Claimed made = Claimed.__new__(Claimed)
        cdef ws_instance *top = self.instance(root, NULL, -1)
        cdef ws_instance *x = self.state.instances
        cdef int64_t ptr, idx, val, k
        ptr, idx, val = buffers
        if top == NULL:
            return None
        instances = {}
        made.columns, made.width, made.keep = columns, width, owner
        if claims is not None:
            if not numbers(&made.child, &top.buffers[<int64_t>claims[0]]):
                return None
            if not numbers(&made.owner, &top.buffers[<int64_t>claims[1]]):
                return None
        while x != NULL:
            if x.used and x.group == &self.groups[group] and (x == top if claims is None else x.parent == top):
                k = 1 if claims is None else x.key
                if not 1 <= k <= MOST or ws_bytes[x.buffers[val].width] != <uint64_t>width:
                    return None
                made.count = max(made.count, k)
                made.lists[k - 1].first, made.lists[k - 1].least = 1, least
                made.lists[k - 1].val = <const char *>x.buffers[val].data
                if not numbers(&made.lists[k - 1].ptr, &x.buffers[ptr]):
                    return None
                if not numbers(&made.lists[k - 1].idx, &x.buffers[idx]):
                    return None
                made.lists[k - 1].known = min(made.lists[k - 1].idx.count, <int64_t>x.buffers[val].cells)
                instances[k] = <uintptr_t>x
            x = x.made_before
        return made, instances

    def run(self, uintptr_t body, bytes given, size_t results, bint in_order, bint yields, uint64_t seed):
        """Run a function of compiled C on the given values; the values that it leaves in their place, and the fault or
        None.

        See `drive` for how. The fault is (what, its two values, where), and if it concerns a buffer
        (group, number), or None.
        """
        cdef bytes left = PyBytes_FromStringAndSize(NULL, max(<size_t>len(given), 8 * results))
        memset(PyBytes_AS_STRING(left), 0, len(left))
        memcpy(PyBytes_AS_STRING(left), PyBytes_AS_STRING(given), len(given))
        self.drive(<ws_body>body, PyBytes_AS_STRING(left), in_order, yields, seed)
        if self.state.fault == WS_NONE:
            return left, None
        values = PyBytes_FromStringAndSize(<char *>self.state.values, 2 * sizeof(ws_value))
        return left, (self.state.fault, values, self.state.where, self.about())

    cdef object about(self):
        cdef ws_instance *x = self.state.instances
        cdef const ws_buffer *b = self.state.buffer
        while x != NULL:
            if b >= x.buffers and b < x.buffers + x.group.buffers:
                return x.group - self.groups, b - x.buffers
            x = x.made_before
        return None

    def word_bytes(self, size_t count):
        """The values, this many, that the failing task has recorded."""
        if self.state.registers == NULL:
            return b""
        return PyBytes_FromStringAndSize(<char *>self.state.registers, count * sizeof(ws_value))

    cdef object drive(self, ws_body body, void *frame, bint in_order, bint yields, uint64_t seed):
        """Run a task and all that it spawns. The fault is recorded in the run.

        `in_order`: accesses are sequentially consistent. `yields`: tasks let others go first at random accesses. An
        exception for the interpreter that arrives meanwhile, such as a KeyboardInterrupt, is raised once all tasks have
        ended.
        """
        cdef ws_run *run = &self.state
        run.order = WS_SEQ_CST if in_order or yields else WS_PLAIN
        run.yields, run.seed = yields, seed
        run.ask, run.asked, self.signal = ask, <void *>self, None
        with nogil:
            ws_begin(run, body, frame)
        if self.signal is not None:
            raise self.signal


cdef bint numbers(Numbers *made, const ws_buffer *b) noexcept:
    """The cells of a buffer as numbers of 32 or 64 bits; false if it has others."""
    if b.width != WS_I32 and b.width != WS_I64:
        return False
    made.cells, made.wide, made.count = <const char *>b.data, b.width == WS_I64, b.cells
    return True


cdef int ask(void *memory) noexcept with gil:
    """Whether a signal stops the run; the exception of its handler is kept."""
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        (<Memory>memory).signal = error
    return (<Memory>memory).signal is not None


cdef object reclaimer


def reclaim_by(function):
    """Set a function that frees spare memory where a run would exceed its limit."""
    global reclaimer
    reclaimer = function


cdef void reclaim() noexcept with gil:
    try:
        reclaimer()
    except KeyboardInterrupt:
        PyErr_SetInterrupt()  # for who asks next: nobody above can raise it


cdef const char *LETTERS = b"q\0d\0i\0B\0b\0h\0H\0I\0f"
WIDTHS = ("i64", "f64", "i32", "u8", "i8", "i16", "u16", "u32", "f32")
FORMATS = {
    "l": WS_I64, "q": WS_I64, "d": WS_F64, "i": WS_I32, "B": WS_U8, "?": WS_U8, "b": WS_I8, "h": WS_I16, "H": WS_U16,
    "I": WS_U32, "f": WS_F32,
}


cdef class Cells:
    """The cells of a buffer as they are in memory."""

    cdef ws_buffer *buffer
    cdef object owner
    cdef Py_ssize_t shape

    def __getbuffer__(self, Py_buffer *view, int flags):
        view.itemsize = ws_bytes[self.buffer.width]
        view.format = <char *>LETTERS + 2 * self.buffer.width
        view.buf = self.buffer.data
        view.obj = self
        view.len = self.shape * view.itemsize
        view.readonly = False
        view.ndim = 1
        view.shape = &self.shape
        view.strides = &view.itemsize
        view.suboffsets = NULL
        view.internal = NULL


def dismiss():
    """End all idle threads."""
    with nogil:
        ws_dismiss()
