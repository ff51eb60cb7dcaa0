"""Columns of several lists as one, in one pass that also asks whether they are in order."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

PIECES = MOST
"""Lists that columns may come from; more would each take longer than their columns."""

ctypedef fused Made:
    int32_t
    int64_t


cdef const char *address(const char[::1] held):
    return &held[0] if len(held) else NULL


cdef extern from "columns.h" nogil:
    bint ws_ascend(const void *, bint, int64_t, const void *, bint, int64_t, int64_t, int64_t, int64_t)


cdef inline int64_t number(const Numbers *x, int64_t k) noexcept nogil:
    return (<const int64_t *>x.cells)[k] if x.wide else (<const int32_t *>x.cells)[k]


cdef class Claimed:
    """Columns that threads have claimed, each a fiber of one of its thread's SparseLists; all in order of one list.

    `child` has the fiber of each column, counted from 1, or 0 if nobody has claimed it, and `owner` its thread, from 1;
    without them, column j is fiber j of the only list. `lists` are (pointers, what they count from, indices, what these
    count from, elements as bytes), and `width` is that of an element, in bytes. Numbers have 32 or 64 bits.
    """

    TOO_LARGE = -2
    """The result of `place` if the pointers would be too large."""

    def __init__(self, child, owner, list lists, int64_t columns, int64_t width):
        cdef List *made
        assert len(lists) <= MOST
        self.count, self.columns, self.width = len(lists), columns, width
        self.keep = [child, owner, lists]
        if child is not None:
            self.child, self.owner = numbers(child), numbers(owner)
        for k, (ptr, first, idx, least, val) in enumerate(lists):
            made = &self.lists[k]
            made.ptr, made.first, made.idx, made.least = numbers(ptr), first, numbers(idx), least
            made.val = address(val)
            made.known = min(made.idx.count, <int64_t>len(val) // width)

    cdef bint find(self, int64_t column, const List **found, int64_t *start, int64_t *stop) noexcept nogil:
        """The list and the entries of a column; false if these are not there. `found` is NULL if nobody claimed it."""
        cdef int64_t t = 1, fiber = column + 1
        found[0] = NULL
        if self.child.cells != NULL:
            if column >= self.child.count or column >= self.owner.count:
                return False
            fiber = number(&self.child, column)
            if fiber == 0:
                return True
            t = number(&self.owner, column)
        if t < 1 or t > self.count or fiber < 1 or fiber >= self.lists[t - 1].ptr.count:
            return False
        cdef const List *x = &self.lists[t - 1]
        start[0], stop[0] = number(&x.ptr, fiber - 1) - x.first, number(&x.ptr, fiber) - x.first
        found[0] = x
        return 0 <= start[0] <= stop[0] <= x.known

    def place(self, Made[::1] ptr):
        """Set the pointers to all columns in order, from 0. The number of the list that has them all so already, 0 if
        there is none; -1 if a column is not there, TOO_LARGE if the pointers would be.
        """
        cdef int64_t j, total = 0, start, stop, largest = 2**31 - 1 if sizeof(Made) == 4 else 2**63 - 1
        cdef const List *x
        cdef const List *first = NULL
        cdef bint whole = True
        assert len(ptr) == self.columns + 1
        with nogil:
            ptr[0] = 0
            for j in range(self.columns):
                if not self.find(j, &x, &start, &stop):
                    with gil:
                        return -1
                if x != NULL and start < stop:
                    if first == NULL:
                        first = x
                    whole = whole and x == first and start == total
                    total += stop - start
                    if total > largest:
                        with gil:
                            return -2
                ptr[j + 1] = <Made>total
        return 0 if not whole else 1 if first == NULL else first - self.lists + 1

    def copy(self, const Made[::1] ptr, int64_t first, int64_t last, int64_t extent, Made[::1] rows, char[::1] values):
        """Copy the columns from `first` to before `last` to where their pointers say, with indices from 0; elements only
        if there are `values`. False if the indices of one do not ascend in the extent.
        """
        cdef int64_t j, start = 0, stop = 0, more = 0, end = 0, entries = len(rows), at = ptr[first]
        cdef const List *x
        cdef const List *other
        cdef bint copies = len(values) > 0, good = True
        assert 0 <= first <= last <= self.columns and 0 <= at <= ptr[last] <= entries
        assert not copies or len(values) == entries * self.width
        with nogil:
            j = first
            while j < last and good:
                good = self.find(j, &x, &start, &stop)
                j += 1
                while good and x != NULL and j < last:  # what follows in the same list is copied with it
                    good = self.find(j, &other, &more, &end)
                    if not good or (other != NULL and more < end and (other != x or more != stop)):
                        break
                    if other != NULL and more < end:
                        stop = end
                    j += 1
                if not good or x == NULL or start == stop:
                    continue
                if at + stop - start > ptr[last]:
                    good = False  # somebody has changed the lists meanwhile
                    break
                shifted(&rows[at], &x.idx, x.least, start, stop)
                if copies:
                    memcpy(&values[at * self.width], x.val + start * self.width, (stop - start) * self.width)
                at += stop - start
            good = good and at == ptr[last]
            if good and ptr[first] < at:
                good = ws_ascend(
                    &ptr[first], sizeof(Made) == 8, ptr[first], &rows[ptr[first]], sizeof(Made) == 8, 0, at - ptr[first],
                    last - first, extent
                )
        return good


cdef extern from * nogil:
    """
    #define ws_lowest_bit(x) __builtin_ctzll(x)
    #define ws_bits(x) __builtin_popcountll(x)
    """
    int ws_lowest_bit(uint64_t)
    int ws_bits(uint64_t)


def count_members(const int64_t[::1] words, const int64_t[::1] summary, int64_t extent):
    """The number of bits that are set in words of 64; -1 if one is set from `extent` on, or if the summary, which has a
    bit for each word that is not 0, is not true. Words and summaries that are not there are 0.
    """
    cdef int64_t w, known = min(len(words), (extent + 63) // 64), total = 0
    cdef uint64_t noted
    cdef bint true = True
    with nogil:
        if extent % 64 and known > extent // 64:
            true = <uint64_t>words[extent // 64] >> extent % 64 == 0
        for w in range((extent + 63) // 64):
            noted = <uint64_t>summary[w // 64] >> w % 64 & 1 if w // 64 < len(summary) else 0
            true = true and noted == (w < known and words[w] != 0)
            if w < known:
                total += ws_bits(<uint64_t>words[w])
    return total if true else -1


def list_members(const int64_t[::1] words, Made[::1] rows):
    """Write the numbers, from 0, of the first bits that are set, as many as there is room for."""
    cdef int64_t k = 0, w = 0
    cdef uint64_t x
    with nogil:
        while k < len(rows) and w < len(words):
            x = <uint64_t>words[w]
            while x and k < len(rows):
                rows[k] = <Made>(64 * w + ws_lowest_bit(x))
                x &= x - 1
                k += 1
            w += 1


cdef void shifted(Made *made, const Numbers *idx, int64_t least, int64_t start, int64_t stop) noexcept nogil:
    """Copy indices, which count from `least`, so that they count from 0. What does not fit gets out of bounds."""
    cdef int64_t k, n = stop - start, largest = 2**31 - 1 if sizeof(Made) == 4 else 2**63 - 1
    cdef const int32_t *narrow
    cdef const int64_t *wide
    if least == 0 and (idx.wide != 0) == (sizeof(Made) == 8):
        memcpy(made, idx.cells + start * sizeof(Made), n * sizeof(Made))
    elif idx.wide:
        wide = <const int64_t *>idx.cells + start
        for k in range(n):
            made[k] = <Made>(wide[k] - least) if 0 <= wide[k] - least <= largest else -1
    else:
        narrow = <const int32_t *>idx.cells + start
        for k in range(n):
            made[k] = <Made>(narrow[k] - least)


cdef Numbers numbers(array):
    """The numbers of an array with one axis, of 32 or 64 bits."""
    cdef Numbers made
    cdef const char[::1] cells = array.view("b")
    assert array.dtype.kind == "i" and array.itemsize in (4, 8)
    made.cells, made.wide, made.count = address(cells), array.itemsize == 8, len(array)
    return made
