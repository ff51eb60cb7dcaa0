"""What lists that come from outside are asked each time, in one pass without copies."""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyObject_GetBuffer, PyBuffer_Release
from libc.stdint cimport int64_t
from libc.string cimport memcmp

cdef extern from "columns.h" nogil:
    bint ws_ascend(const void *, bint, int64_t, const void *, bint, int64_t, int64_t, int64_t, int64_t)


def ordered(ptr, int64_t first, idx, int64_t least, int64_t children, int64_t fibers, int64_t extent):
    """Whether lists are in order: pointers to so many fibers that ascend from `first`, to at most so many children, and
    in each fiber indices that ascend from `least` on. False also of arrays that are not in one piece, or of other types.
    """
    cdef Py_buffer views[2]
    cdef int count = 0
    try:
        for array in (ptr, idx):
            PyObject_GetBuffer(array, &views[count], PyBUF_FORMAT | PyBUF_ND)
            count += 1
        return ascend(&views[0], first, &views[1], least, children, fibers, extent)
    except (ValueError, BufferError):
        return False
    finally:
        while count:
            count -= 1
            PyBuffer_Release(&views[count])


cdef bint ascend(
    const Py_buffer *ptr, int64_t first, const Py_buffer *idx, int64_t least, int64_t children, int64_t fibers, int64_t extent
) noexcept:
    cdef bint good
    if not integers(ptr) or not integers(idx) or ptr.len // ptr.itemsize != fibers + 1:
        return False
    cdef int64_t most = min(children, idx.len // idx.itemsize)
    with nogil:
        good = ws_ascend(ptr.buf, ptr.itemsize == 8, first, idx.buf, idx.itemsize == 8, least, most, fibers, extent)
    return good


def equal_bytes(x, y):
    """Whether two arrays, each in one piece, are the same memory, or hold the same bytes."""
    cdef Py_buffer a, b
    PyObject_GetBuffer(x, &a, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(y, &b, PyBUF_SIMPLE)
    except (ValueError, BufferError):
        PyBuffer_Release(&a)
        raise
    cdef bint same = a.len == b.len
    if same and a.buf != b.buf:
        with nogil:
            same = memcmp(a.buf, b.buf, a.len) == 0
    PyBuffer_Release(&a)
    PyBuffer_Release(&b)
    return same


cdef bint integers(const Py_buffer *view) noexcept:
    cdef bint narrow_or_wide = view.format[0] in (c"i", c"l", c"q") and view.format[1] == 0
    return narrow_or_wide and view.ndim == 1 and <size_t>view.buf % <size_t>view.itemsize == 0
