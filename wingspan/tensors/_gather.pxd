"""Columns of several lists, as other extension modules find the lists."""

from libc.stdint cimport int64_t

cdef enum:
    MOST = 256


cdef struct Numbers:
    const char *cells
    bint wide  # 64 bits, not 32
    int64_t count


cdef struct List:
    Numbers ptr, idx
    int64_t first, least  # what pointers and indices count from
    const char *val
    int64_t known  # entries that there are


cdef class Claimed:
    cdef Numbers child, owner
    cdef List lists[MOST]
    cdef int64_t count, columns, width
    cdef object keep

    cdef bint find(self, int64_t column, const List **found, int64_t *start, int64_t *stop) noexcept nogil
