"""Arrays of NumPy and SciPy that a plan reads where the caller has them: checked, and lent to its buffers, in one call.

What does not fit as it is gets None, and is left to the general way, which converts it or says what is wrong.
"""

import sys

from cpython.buffer cimport PyBUF_F_CONTIGUOUS, PyBUF_FORMAT, PyBUF_SIMPLE, PyObject_GetBuffer, PyBuffer_Release
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, strcmp

from wingspan.runtime.runtime cimport WS_F32, WS_F64, WS_I16, WS_I32, WS_I64, WS_I8, WS_U16, WS_U32, WS_U8, ws_bytes, ws_width

cdef extern from "columns.h" nogil:
    bint ws_ascend_32_32(const int32_t *, int64_t, const int32_t *, int64_t, int64_t, int64_t, int64_t)
    bint ws_ascend_64_64(const int64_t *, int64_t, const int64_t *, int64_t, int64_t, int64_t, int64_t)

MOST_INPUTS = INPUTS
"""The most inputs that are lent together."""

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
    """What an input must be: an array of `rank` axes in column-major order, or a CSC matrix if it is `sparse`."""

    cdef str name
    cdef bytes format
    cdef int rank
    cdef bint sparse, alike
    cdef Use uses[3]
    cdef list dtypes


cdef class Lender:
    """The inputs of a plan that reads all of them where the caller has them.

    `inputs` are (name, format of the elements as memoryviews say it, rank, whether it is sparse, uses): for the
    elements, and of a sparse one the pointers and indices, the (group, number, width, data type) of the buffer that
    reads them, or None. With `alike`, the sparse inputs of these names are also asked whether they store elements at the same places.
    """

    cdef list slots
    cdef bint compares
    cdef object csc, ndarray

    def __cinit__(self, list inputs, alike, ndarray):
        cdef Slot slot
        assert len(inputs) <= INPUTS
        self.slots, self.compares, self.ndarray = [], bool(alike), ndarray
        for name, form, rank, sparse, uses in inputs:
            slot = Slot()
            slot.name, slot.format, slot.rank, slot.sparse, slot.alike = name, form.encode(), rank, sparse, name in alike
            slot.dtypes = [use and use[3] for use in uses]
            for k, use in enumerate(uses):
                slot.uses[k].read = use is not None
                if use is not None:
                    slot.uses[k].root, slot.uses[k].number, slot.uses[k].width = use[0], use[1], WIDTHS[use[2]]
            self.slots.append(slot)

    def lend(self, dict inputs):
        """The inputs, lent; None if one does not fit as it is, or is not in order."""
        cdef Py_buffer views[3 * INPUTS + 2]
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
        cdef int j, k = 0
        cdef list shapes = []
        made.values, made.keep = [], []
        for slot in self.slots:
            data = inputs[slot.name]
            arrays = (data.data, data.indptr, data.indices) if slot.sparse else (data,)
            if slot.sparse and type(data) not in self.csc_types():
                return None
            view = &views[held[0]]
            for array in arrays:
                if type(array) is not self.ndarray:
                    return None
                PyObject_GetBuffer(array, &views[held[0]], PyBUF_FORMAT | PyBUF_F_CONTIGUOUS)
                held[0] += 1
            if view.ndim != (1 if slot.sparse else slot.rank) or strcmp(view.format, slot.format) or not aligned(view):
                return None
            shape = data.shape
            if slot.sparse:
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
            made.keep.append(arrays)
        made.shapes = tuple(shapes)
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
            view = views
            for slot, arrays in zip(self.slots, tuple(made.keep)):
                for j in range(len(arrays)):
                    if slot.uses[j].read and view.len:
                        self.add(made, slot, j, arrays[j], view)
                    view += 1
        return made

    cdef object add(self, Lent made, Slot slot, int j, array, const Py_buffer *view):
        """Lend an array to its buffer; a copy if it is of another width."""
        cdef Py_buffer converted
        if view.itemsize == <Py_ssize_t>ws_bytes[slot.uses[j].width]:
            made.add(&slot.uses[j], view)
            return
        array = array.astype(slot.dtypes[j])
        made.keep.append(array)
        PyObject_GetBuffer(array, &converted, PyBUF_SIMPLE)
        made.add(&slot.uses[j], &converted)
        PyBuffer_Release(&converted)

    cdef object csc_types(self):
        """The classes of CSC matrices; none if SciPy is not loaded, so that nothing can be one."""
        if self.csc is None:
            module = sys.modules.get("scipy.sparse")
            if module is None:
                return ()
            self.csc = (module.csc_array, module.csc_matrix)
        return self.csc


cdef bint aligned(const Py_buffer *view) noexcept:
    return <size_t>view.buf % <size_t>min(max(view.itemsize, 1), 8) == 0


cdef bint integers(const Py_buffer *view) noexcept:
    """Whether an array with one axis holds signed integers of 32 or 64 bits, where the processor wants them."""
    return view.ndim == 1 and view.format[0] in (c"i", c"l", c"q") and view.format[1] == 0 and aligned(view)


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
    if not integers(ptr) or not integers(idx) or ptr.itemsize != idx.itemsize or x.rows < 0 or x.columns < 0:
        return False
    cdef int64_t entries = x.view.len // x.view.itemsize
    if ptr.len // ptr.itemsize != x.columns + 1 or idx.len // idx.itemsize != entries:
        return False
    cdef bint good
    with nogil:
        if ptr.itemsize == 4:
            good = ws_ascend_32_32(<const int32_t *>ptr.buf, 0, <const int32_t *>idx.buf, 0, entries, x.columns, x.rows)
            good = good and (<const int32_t *>ptr.buf)[x.columns] == entries
        else:
            good = ws_ascend_64_64(<const int64_t *>ptr.buf, 0, <const int64_t *>idx.buf, 0, entries, x.columns, x.rows)
            good = good and (<const int64_t *>ptr.buf)[x.columns] == entries
    return good
