"""Arrays of NumPy and SciPy that a plan reads where the caller has them: checked, and lent to its buffers, in one call.

What does not fit as it is gets None, and is left to the general way, which converts it or says what is wrong.
"""

import sys

from cpython.buffer cimport PyBUF_F_CONTIGUOUS, PyBUF_FORMAT, PyBUF_SIMPLE, PyObject_GetBuffer, PyBuffer_Release
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, strcmp

from wingspan.runtime.runtime cimport WS_F32, WS_F64, WS_I16, WS_I32, WS_I64, WS_I8, WS_U16, WS_U32, WS_U8, ws_bytes, ws_width
from wingspan.tensors._checks cimport ascend, integers

MOST_INPUTS, MOST_LISTS = INPUTS, LISTS
"""The most inputs that are lent together, and the most SparseLists that one has."""
SPARE = 1 << 20
"""So many fibers may be empty beside those with entries; more of them are left to the general way, which asks first."""

WIDTHS = {
    "i64": WS_I64, "f64": WS_F64, "i32": WS_I32, "u8": WS_U8, "i8": WS_I8, "i16": WS_I16, "u16": WS_U16, "u32": WS_U32,
    "f32": WS_F32,
}


cdef struct Columns:
    Py_buffer *view  # of the elements, the pointers and the indices
    int64_t rows, columns
    bint alike


cdef class Lent:
    """Inputs that are lent to one run, or to several while the caller leaves them as they are.

    `shapes` and `values`, the arrays of the elements, are those of each input. If all inputs that were to be alike
    store elements at the same places, `pattern` has copies of their pointers and indices, else None.
    """

    cdef void add(self, const Use *use, const Py_buffer *view) noexcept:
        """Lend an array, as wide as its cells, to a buffer."""
        cdef Loan *loan = &self.loans[self.count]
        loan.root, loan.number, loan.width = use.root, use.number, use.width
        loan.cells, loan.count = view.buf, view.len // ws_bytes[use.width]
        self.count += 1


cdef class Slot:
    """The requirements of an input: an array of `rank` axes in column-major order, if there are no `lists`.

    Else it is an array in COO of that rank, or, of one list and rank 2, a CSC matrix.
    """

    cdef str name
    cdef bytes format
    cdef int rank, lists
    cdef bint alike
    cdef Use uses[USES]
    cdef list dtypes


cdef enum Outcome:
    SORTED
    UNSORTED
    REFUSED


cdef struct Entries:
    int rank
    int64_t count
    int64_t extents[USES]
    const char *axes[USES]  # the subscripts
    bint wide[USES]  # 64 bits, not 32
    const int64_t *order  # which entry comes first, second and so on; NULL if they lie so
    int64_t nodes[USES]  # by axis, the number of different subscripts along it and those after it


cdef class Lender:
    """The inputs of a plan that reads all of them where the caller has them.

    `inputs` are (name, format of the elements as memoryviews say it, rank, number of SparseLists, uses): for the
    elements, and for the pointers and indices of each list from the root on, the (group, number, width, data type) of
    the buffer that reads them, or None. With `alike`, the sparse inputs of these names are also asked whether they store elements at the same places.
    """

    cdef list slots
    cdef bint compares
    cdef object numpy, ndarray
    cdef tuple csc, coo  # the classes of matrices

    def __cinit__(self, list inputs, alike, numpy):
        cdef Slot slot
        assert len(inputs) <= INPUTS
        self.slots, self.compares, self.numpy, self.ndarray = [], bool(alike), numpy, numpy.ndarray
        self.csc = self.coo = ()
        for name, form, rank, lists, uses in inputs:
            slot = Slot()
            slot.name, slot.format, slot.rank, slot.lists, slot.alike = name, form.encode(), rank, lists, name in alike
            slot.dtypes = [use and use[3] for use in uses]
            for k, use in enumerate(uses):
                slot.uses[k].read = use is not None
                if use is not None:
                    slot.uses[k].root, slot.uses[k].number, slot.uses[k].width = use[0], use[1], WIDTHS[use[2]]
            self.slots.append(slot)

    def lend(self, dict inputs):
        """The inputs, lent; None if one does not fit as it is, or is not in order."""
        cdef Py_buffer views[USES * INPUTS]
        cdef int held = 0
        try:
            return self.check(inputs, views, &held)
        except (AttributeError, ValueError, BufferError, TypeError, OverflowError):  # of objects that are spoiled
            return None
        finally:
            while held:
                held -= 1
                PyBuffer_Release(&views[held])

    cdef object check(self, dict inputs, Py_buffer *views, int *held):
        """The same; `views` are acquired, and `held` is how many of them."""
        cdef Lent made = Lent()
        cdef Slot slot
        cdef Columns columns[INPUTS]
        cdef Columns *first = NULL
        cdef Py_buffer *view
        cdef bint same = self.compares
        cdef int begins[INPUTS]
        cdef int j, k = 0, number
        cdef list shapes = []
        cdef list parts = []
        made.values, made.keep = [], []
        if not self.csc:
            self.find_classes()
        for number, slot in enumerate(self.slots):
            data = inputs[slot.name]
            begins[number] = held[0]
            if slot.lists and type(data) in self.coo:
                arrays = (data.data, *data.coords)
            elif slot.lists:
                if type(data) not in self.csc or slot.lists != 1 or slot.rank != 2:
                    return None
                arrays = data.data, data.indptr, data.indices
            else:
                arrays = (data,)
            if len(arrays) > USES:
                return None
            view = &views[held[0]]
            for array in arrays:
                if type(array) is not self.ndarray:
                    return None
                PyObject_GetBuffer(array, &views[held[0]], PyBUF_FORMAT | PyBUF_F_CONTIGUOUS)
                held[0] += 1
            if view.ndim != (1 if slot.lists else slot.rank) or strcmp(view.format, slot.format) or not aligned(view):
                return None
            shape = data.shape
            if slot.lists and type(data) in self.coo:
                begins[number] = -1
                same = same and not slot.alike
                if not self.pack(made, slot, shape, view, arrays):
                    return None
            elif slot.lists:
                columns[k].view, columns[k].alike = view, slot.alike
                columns[k].rows, columns[k].columns = shape
                if slot.alike and first == NULL:
                    first = &columns[k]
                    made.pattern = arrays[1:]
                elif slot.alike and same:
                    same = equal(first, &columns[k])
                k += 1
            shapes.append(shape)
            made.values.append(arrays[0])
            parts.append(arrays)
        made.shapes = tuple(shapes)
        made.keep.append(parts)
        if not same:
            made.pattern = None
        else:  # copies are in order whatever the caller does meanwhile
            made.pattern = tuple([array.copy() for array in made.pattern])
            for j, array in enumerate(made.pattern, start=1):
                PyBuffer_Release(&first.view[j])
                PyObject_GetBuffer(array, &first.view[j], PyBUF_FORMAT | PyBUF_F_CONTIGUOUS)
        for j in range(k):
            if not ((same and columns[j].alike and &columns[j] != first) or repeated(columns, j) or ordered(&columns[j])):
                return None
        if not same:
            for number, slot in enumerate(self.slots):
                if begins[number] >= 0:
                    arrays = parts[number]
                    for j in range(len(arrays)):
                        view = &views[begins[number] + j]
                        if slot.uses[j].read and view.len:
                            if view.itemsize == <Py_ssize_t>ws_bytes[slot.uses[j].width]:
                                made.add(&slot.uses[j], view)
                            else:
                                self.add(made, slot, j, arrays[j].astype(slot.dtypes[j]))
        return made

    cdef object add(self, Lent made, Slot slot, int j, array):
        """Lend an array that was made here to its buffer."""
        cdef Py_buffer view
        if slot.uses[j].read and len(array):
            made.keep.append(array)
            PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
            made.add(&slot.uses[j], &view)
            PyBuffer_Release(&view)

    cdef bint pack(self, Lent made, Slot slot, tuple shape, Py_buffer *view, tuple arrays) except -1:
        """Lend the entries of a COO array as lists; false if they are not in order, are duplicates, or need much room.

        `view` is that of the elements, before those of the subscripts along each axis. Unsorted entries are sorted.
        """
        cdef Entries x
        cdef int a, lists = slot.lists
        cdef bint dense = slot.rank > lists
        cdef Outcome found
        x.rank, x.count, x.order = slot.rank, view.len // view.itemsize, NULL
        if len(shape) != slot.rank or len(arrays) != slot.rank + 1 or slot.rank > lists + 1:
            return False
        for a in range(slot.rank):
            x.extents[a] = shape[a]
            if not integers(&view[1 + a]) or view[1 + a].len // view[1 + a].itemsize != x.count or x.extents[a] < 0:
                return False
            x.axes[a], x.wide[a] = <const char *>view[1 + a].buf, view[1 + a].itemsize == 8
        if dense and x.extents[lists] > 4 * x.count + SPARE:
            return False
        with nogil:
            found = look_through(&x)
        order = None
        if found == UNSORTED:
            for a in range(slot.rank):
                if x.extents[a] > 4 * x.count + SPARE:
                    return False
            order, other = self.numpy.empty(x.count, "i8"), self.numpy.empty(x.count, "i8")
            begins = self.numpy.empty(max([x.extents[a] for a in range(slot.rank)]) + 1, "i8")
            sort(&x, order, other, begins)
            order = other if slot.rank % 2 == 0 else order
            x.order = address(order)
            with nogil:
                found = look_through(&x)
        if found != SORTED:
            return False
        if order is None:
            if slot.uses[0].read and view.len:
                made.add(&slot.uses[0], view)
        else:
            self.add(made, slot, 0, arrays[0][order])
        self.add_lists(made, slot, &x, dense)
        return True

    cdef object add_lists(self, Lent made, Slot slot, const Entries *x, bint dense):
        """Lend the pointers and indices of all lists, which are made here, from the root on."""
        cdef int a, j
        cdef int64_t fibers
        cdef char[::1] ptr
        cdef char[::1] idx
        for j in range(slot.lists):
            a = slot.lists - 1 - j
            fibers = x.nodes[a + 1] if a + 1 < slot.lists else x.extents[a + 1] if dense else 1
            pointers = self.numpy.empty(fibers + 1, slot.dtypes[1 + 2 * j] or "i8")
            indices = self.numpy.empty(x.nodes[a], slot.dtypes[2 + 2 * j] or "i8")
            ptr, idx = pointers.view("b"), indices.view("b")
            with nogil:
                fill(
                    x, a, a + 1 == slot.lists, fibers, &ptr[0], len(ptr) == 8 * (fibers + 1),
                    &idx[0] if x.nodes[a] else NULL, len(idx) == 8 * x.nodes[a],
                )
            self.add(made, slot, 1 + 2 * j, pointers)
            self.add(made, slot, 2 + 2 * j, indices)

    cdef object find_classes(self):
        """Look up the classes of SciPy's matrices. If it is not loaded, nothing can be one."""
        module = sys.modules.get("scipy.sparse")
        if module is not None:
            self.csc, self.coo = (module.csc_array, module.csc_matrix), (module.coo_array, module.coo_matrix)


cdef const int64_t *address(const int64_t[::1] numbers):
    return &numbers[0] if len(numbers) else NULL


cdef inline int64_t number(const void *numbers, bint wide, int64_t k) noexcept nogil:
    return (<const int64_t *>numbers)[k] if wide else (<const int32_t *>numbers)[k]


cdef inline int64_t subscript(const Entries *x, int a, int64_t e) noexcept nogil:
    return number(x.axes[a], x.wide[a], e)


cdef inline void store(char *cells, bint wide, int64_t k, int64_t value) noexcept nogil:
    if wide:
        (<int64_t *>cells)[k] = value
    else:
        (<int32_t *>cells)[k] = <int32_t>value


cdef Outcome look_through(Entries *x) noexcept nogil:
    """Whether entries ascend, the last axis counting most, and count the nodes. REFUSED if one is out of bounds, or is
    there twice.
    """
    cdef int64_t k, e, before = 0, i, j
    cdef int a
    cdef bint ascends = True
    for a in range(x.rank):
        x.nodes[a] = 0
    for k in range(x.count):
        e = k if x.order == NULL else x.order[k]
        for a in range(x.rank):
            i = subscript(x, a, e)
            if i < 0 or i >= x.extents[a]:
                return REFUSED
        a = x.rank - 1
        while k > 0 and a >= 0:
            i, j = subscript(x, a, e), subscript(x, a, before)
            if i != j:
                ascends = ascends and i > j
                break
            a -= 1
        if a < 0:
            return REFUSED
        while a >= 0:  # a node of its own along this axis and all before it
            x.nodes[a] += 1
            a -= 1
        before = e
    return SORTED if ascends else UNSORTED


cdef object sort(const Entries *x, int64_t[::1] order, int64_t[::1] other, int64_t[::1] begins):
    """Sort entries by counting, along one axis after the other, the last one counting most. The result is in `order` if
    the rank is odd, else in `other`.
    """
    cdef int64_t k, e, at
    cdef int a
    cdef int64_t[::1] to = order
    cdef int64_t[::1] source = other
    with nogil:
        for k in range(x.count):
            source[k] = k
        for a in range(x.rank):
            begins[:] = 0
            for k in range(x.count):
                begins[subscript(x, a, k) + 1] += 1
            for k in range(x.extents[a]):
                begins[k + 1] += begins[k]
            for k in range(x.count):
                e = source[k]
                at = subscript(x, a, e)
                to[begins[at]] = e
                begins[at] += 1
            source, to = to, source


cdef void fill(
    const Entries *x, int a, bint outermost, int64_t fibers, char *ptr, bint wide_ptr, char *idx, bint wide_idx
) noexcept nogil:
    """Set the pointers and indices of the list along an axis, whose entries are sorted, and counted.

    Nothing is written beyond these, whatever others write into the subscripts meanwhile.
    """
    cdef int64_t k, e, before = 0, node = 0, fiber = 0
    cdef int b
    store(ptr, wide_ptr, 0, 0)
    for k in range(x.count):
        e = k if x.order == NULL else x.order[k]
        b = x.rank - 1
        while k > 0 and b >= a and subscript(x, b, e) == subscript(x, b, before):
            b -= 1
        if k > 0 and b < a:
            continue  # the same node
        if outermost and a + 1 < x.rank:  # the fibers are all indices of a Dense level
            while fiber < fibers and fiber < subscript(x, a + 1, e):
                fiber += 1
                store(ptr, wide_ptr, fiber, node)
        elif not outermost and k > 0 and b > a and fiber < fibers:
            fiber += 1
            store(ptr, wide_ptr, fiber, node)
        if node < x.nodes[a]:
            store(idx, wide_idx, node, subscript(x, a, e))
            node += 1
        before = e
    while fiber < fibers:
        fiber += 1
        store(ptr, wide_ptr, fiber, node)


cdef bint aligned(const Py_buffer *view) noexcept:
    return <size_t>view.buf % <size_t>min(max(view.itemsize, 1), 8) == 0


cdef bint same_memory(const Columns *x, const Columns *y, int k) noexcept:
    return x.view[k].buf == y.view[k].buf and x.view[k].len == y.view[k].len


cdef bint equal(const Columns *x, const Columns *y) noexcept:
    """Whether two matrices store elements at the same places, one behind the other."""
    cdef int k
    cdef bint same = x.rows == y.rows and x.columns == y.columns
    for k in range(1, 3):
        same = same and x.view[k].len == y.view[k].len and x.view[k].itemsize == y.view[k].itemsize
    same = same and x.view[0].len == y.view[0].len
    for k in range(1, 3):
        if same and not same_memory(x, y, k):
            with nogil:
                same = memcmp(x.view[k].buf, y.view[k].buf, x.view[k].len) == 0
    return same


cdef bint repeated(const Columns *columns, int j) noexcept:
    """Whether the pointers and indices of a matrix are those of one before it, which has been checked."""
    cdef int k
    for k in range(j):
        if columns[k].rows == columns[j].rows and columns[k].columns == columns[j].columns:
            if same_memory(&columns[k], &columns[j], 1) and same_memory(&columns[k], &columns[j], 2):
                if columns[k].view.len == columns[j].view.len:
                    return True
    return False


cdef bint ordered(const Columns *x) noexcept:
    """Whether a CSC matrix is in order: its indices ascend in each column, and it has the elements that they lead to."""
    cdef const Py_buffer *ptr = &x.view[1]
    cdef const Py_buffer *idx = &x.view[2]
    cdef int64_t entries = x.view.len // x.view.itemsize
    if x.rows < 0 or x.columns < 0 or not ascend(ptr, 0, idx, 0, entries, x.columns, x.rows):
        return False
    if ptr.itemsize != idx.itemsize or idx.len // idx.itemsize != entries:
        return False
    return number(ptr.buf, ptr.itemsize == 8, x.columns) == entries
