"""What lists that come from outside are asked each time, in one pass without copies."""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyObject_GetBuffer, PyBuffer_Release
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp

cdef extern from "columns.h" nogil:
    bint ws_ascend_32_32(const int32_t *, int64_t, const int32_t *, int64_t, int64_t, int64_t, int64_t)
    bint ws_ascend_32_64(const int32_t *, int64_t, const int64_t *, int64_t, int64_t, int64_t, int64_t)
    bint ws_ascend_64_32(const int64_t *, int64_t, const int32_t *, int64_t, int64_t, int64_t, int64_t)
    bint ws_ascend_64_64(const int64_t *, int64_t, const int64_t *, int64_t, int64_t, int64_t, int64_t)


def ordered(ptr, int64_t first, idx, int64_t least, int64_t children, int64_t fibers, int64_t extent):
    """Whether lists are in order: pointers to so many fibers that ascend from `first`, to at most so many children, and
    in each fiber indices that ascend from `least` on. False also of arrays that are not in one piece, or of other types.
    """
    cdef Py_buffer p, i
    cdef bint good = False
    try:
        PyObject_GetBuffer(ptr, &p, PyBUF_FORMAT | PyBUF_ND)
    except (ValueError, BufferError):
        return False
    try:
        PyObject_GetBuffer(idx, &i, PyBUF_FORMAT | PyBUF_ND)
    except (ValueError, BufferError):
        PyBuffer_Release(&p)
        return False
    cdef int64_t most = min(children, i.len // i.itemsize)
    if whole(&p) and whole(&i) and p.len // p.itemsize == fibers + 1:
        with nogil:
            if p.itemsize == 4 and i.itemsize == 4:
                good = ws_ascend_32_32(<const int32_t *>p.buf, first, <const int32_t *>i.buf, least, most, fibers, extent)
            elif p.itemsize == 4:
                good = ws_ascend_32_64(<const int32_t *>p.buf, first, <const int64_t *>i.buf, least, most, fibers, extent)
            elif i.itemsize == 4:
                good = ws_ascend_64_32(<const int64_t *>p.buf, first, <const int32_t *>i.buf, least, most, fibers, extent)
            else:
                good = ws_ascend_64_64(<const int64_t *>p.buf, first, <const int64_t *>i.buf, least, most, fibers, extent)
    PyBuffer_Release(&p)
    PyBuffer_Release(&i)
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


cdef bint whole(const Py_buffer *view) noexcept:
    """Whether an array with one axis holds integers of 32 or 64 bits, where the processor wants them."""
    cdef bint integers = view.format[0] in (c"i", c"l", c"q") and view.format[1] == 0
    return integers and view.ndim == 1 and <size_t>view.buf % <size_t>view.itemsize == 0
