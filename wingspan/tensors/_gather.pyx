"""Columns of several lists as one, in one pass that also asks whether they are in order."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

cdef enum:
    MOST = 256

PIECES = MOST
"""Lists that columns may come from; more would each take longer than their columns."""

ctypedef fused Index:
    int32_t
    int64_t

ctypedef fused Made:
    int32_t
    int64_t


cdef bint gathered(
    const Index **idx, const char **val, Py_ssize_t width, const int64_t *least, int64_t extent,
    const int64_t *piece, const int64_t *start, const Made *ptr, int64_t first, int64_t last, Made *rows, char *values,
) noexcept nogil:
    """See `gather`."""
    cdef const Index *source
    cdef int64_t j, k, count, base
    cdef Made *made
    cdef bint falls = False
    for j in range(first, last):
        count = ptr[j + 1] - ptr[j]
        if count == 0:
            continue
        source, made, base = idx[piece[j]] + start[j], rows + ptr[j], least[piece[j]]
        for k in range(count):
            made[k] = <Made>(source[k] - base)
        for k in range(1, count):
            falls |= source[k] <= source[k - 1]
        if source[0] < base or source[count - 1] - base >= extent:
            return False
        if width:
            memcpy(values + ptr[j] * width, val[piece[j]] + start[j] * width, count * width)
    return not falls


def gather(
    list lists, const int64_t[::1] least, int64_t extent, const int64_t[::1] piece, const int64_t[::1] start,
    const Made[::1] ptr, int64_t first, int64_t last, Made[::1] rows, char[::1] values,
):
    """Copy the columns from `first` to before `last`; False if the indices of one do not ascend in the extent.

    Column j comes from the entry `start[j]` on of `lists[piece[j]]`, which is a pair of indices, all of one type and
    counted from `least[piece[j]]`, and of the bytes of elements. It goes from the entry `ptr[j]` on into `rows`,
    counted from 0, and `values`, unless that is empty. The caller knows that all entries are there.
    """
    cdef const char *idx[MOST]
    cdef const char *val[MOST]
    cdef Py_ssize_t number, width = len(values) // len(rows)
    cdef bint wide = False, good
    cdef Made *made = &rows[0]
    cdef char *copied = &values[0] if width else NULL
    assert len(lists) <= MOST
    for number in range(len(lists)):
        indices, elements = lists[number]
        wide = indices.itemsize == 8
        idx[number], val[number] = address(indices.view("b")), address(elements)
    with nogil:
        if wide:
            good = gathered(
                <const int64_t **>idx, val, width, &least[0], extent, &piece[0], &start[0], &ptr[0], first, last, made, copied
            )
        else:
            good = gathered(
                <const int32_t **>idx, val, width, &least[0], extent, &piece[0], &start[0], &ptr[0], first, last, made, copied
            )
    return good


cdef const char *address(const char[::1] held):
    return &held[0] if len(held) else NULL
