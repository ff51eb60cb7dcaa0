# distutils: language = c++
"""Lines of numbers, read and written in one pass: what text files of tensors consist of.

The standard library of C++ reads and writes doubles: `std::from_chars` rounds to the nearest one, `std::to_chars`
writes the fewest digits that are read back. Neither holds the interpreter, so that blocks of a file are read at once.
"""

from libc.math cimport isinf
from libc.stdint cimport int64_t, uint64_t

from wingspan.base.libraries import np

cdef extern from *:
    """
    #include <algorithm>
    #include <charconv>
    /* Where a double ends that begins at p, and whether one was stored: not if there is none, or it is out of range. */
    static const char *nearest(const char *p, const char *end, double *out, int *stored) {
        std::from_chars_result found = std::from_chars(p, end, *out);
        *stored = found.ec == std::errc();
        return found.ptr;
    }
    static char *shortest(char *p, double value) { return std::to_chars(p, p + 32, value).ptr; }
    static char *digits(char *p, int64_t value) { return std::to_chars(p, p + 32, value).ptr; }
    static Py_ssize_t newlines(const char *p, const char *end) { return std::count(p, end, '\\n'); }
    """
    const char *nearest(const char *p, const char *end, double *out, bint *stored) noexcept nogil
    char *shortest(char *p, double value) noexcept nogil
    char *digits(char *p, int64_t value) noexcept nogil
    Py_ssize_t newlines(const char *p, const char *end) noexcept nogil

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *text, char **end, void *overflow) except? -1.0

cdef enum:
    MOST = 32  # columns
    LONGEST = 2200  # characters of a number out of range: Python reads longer ones in quadratic time
    DIGITS = 19  # that 64 bits hold, whatever they are
    WIDEST = 26  # characters that a number takes, with what follows it


cdef inline bint digit(char c) noexcept nogil:
    return c >= c"0" and c <= c"9"


cdef inline bint blank(char c) noexcept nogil:
    return c == c" " or c == c"\t"


cdef inline bint sign(char c) noexcept nogil:
    return c == c"+" or c == c"-"


cdef const char *integer(const char *p, int64_t *out) noexcept nogil:
    """Where an integer ends that begins here; NULL if there is none, or 64 bits do not hold it."""
    cdef bint negative = p[0] == c"-"
    cdef uint64_t value = 0, most = <uint64_t>1 << 63
    cdef const char *first
    if sign(p[0]):
        p += 1
    if not digit(p[0]):
        return NULL
    while p[0] == c"0":
        p += 1
    first = p
    while digit(p[0]):
        value = value * 10 + <uint64_t>(p[0] - c"0")
        p += 1
    if p - first > DIGITS or value > most or (value == most and not negative):
        return NULL
    out[0] = <int64_t>(0 - value) if negative else <int64_t>value
    return p


cdef const char *number(const char *p, const char *end, double *out) noexcept nogil:
    """Where a number ends that begins here; NULL if there is none. It is rounded to the nearest double.

    Infinity and NaN are words (inf, infinity, nan); a number in digits that is larger than every double is none.
    """
    cdef const char *begin = p
    cdef bint stored
    if p[0] == c"+":
        p += 1
        if p[0] == c"-":
            return NULL
    p = nearest(p, end, out, &stored)
    if stored and (p - 1)[0] != c")":  # as in nan(1)
        return p
    if stored or p == begin or p - begin > LONGEST:
        return NULL
    with gil:
        try:
            out[0] = PyOS_string_to_double(<bytes>begin[: p - begin], NULL, NULL)
        except ValueError:
            return NULL
    if isinf(out[0]):
        return NULL
    return p


cdef Py_ssize_t read(const char *p, const char *end, int wide, const bint *doubles, void **out) noexcept nogil:
    """Store the rows between two places in columns, and return how many they are; -1 if a line is out of order."""
    cdef Py_ssize_t row = 0
    cdef int k
    while True:
        while p < end and (blank(p[0]) or (p[0] >= c"\n" and p[0] <= c"\r")):
            p += 1
        if p == end:
            return row
        for k in range(wide):
            if k and not blank(p[0]):
                return -1
            while blank(p[0]):
                p += 1
            if doubles[k]:
                p = number(p, end, <double *>out[k] + row)
            else:
                p = integer(p, <int64_t *>out[k] + row)
            if p == NULL:
                return -1
        while blank(p[0]) or (p[0] > c"\n" and p[0] <= c"\r"):
            p += 1
        if p[0] != c"\n":
            return -1
        row += 1


def ended(bytes block):
    """How many lines end in a text. `bytes.count` looks for one after the other, which takes longer than to read them."""
    cdef const char *p = block
    return newlines(p, p + len(block))


def columns(bytes block, str kinds):
    """The columns of lines that hold an integer (`i`) or a double (`d`) for each letter, as arrays of 64 bits.

    Words are separated by blanks, lines end with a newline, and may be blank. None if a line is anything else, or an
    integer does not fit.
    """
    cdef int wide = len(kinds), k
    cdef Py_ssize_t rows = ended(block)
    cdef bint doubles[MOST]
    cdef void *out[MOST]
    cdef char[::1] raw
    cdef const char *p = block
    cdef const char *end = p + len(block)
    if not 0 < wide <= MOST or not block.endswith(b"\n"):
        return None
    made = [np.empty(rows, dtype=np.float64 if kind == "d" else np.int64) for kind in kinds]
    for k in range(wide):
        doubles[k] = kinds[k] == "d"
        raw = made[k].view(np.int8)
        out[k] = &raw[0]
    with nogil:
        rows = read(p, end, wide, doubles, out)
    return None if rows < 0 else [column[:rows] for column in made]


cdef char *write(char *p, Py_ssize_t rows, int wide, const bint *doubles, void **columns) noexcept nogil:
    """Write rows as lines; where they end."""
    cdef Py_ssize_t row
    cdef int k
    cdef char *begin
    for row in range(rows):
        for k in range(wide):
            if doubles[k]:
                begin = p
                p = shortest(p, (<double *>columns[k])[row])
                while begin < p and (digit(begin[0]) or begin[0] == c"-"):
                    begin += 1
                if begin == p:
                    p[0], p[1] = c".", c"0"
                    p += 2
            else:
                p = digits(p, (<int64_t *>columns[k])[row])
            p[0] = c"\n" if k == wide - 1 else c" "
            p += 1
    return p


def lines(list arrays):
    """The rows of columns of 64 bits, integers and doubles, as lines. Doubles have the fewest digits that are read back.

    What is written of a double is no integer: it has a point, an exponent, or is a word.
    """
    cdef int wide = len(arrays), k
    cdef Py_ssize_t rows = len(arrays[0])
    cdef bint doubles[MOST]
    cdef void *columns[MOST]
    cdef const char[::1] raw
    cdef bytearray made = bytearray(rows * wide * WIDEST)
    cdef char *begin = made
    cdef char *end
    if not 0 < wide <= MOST:
        raise ValueError(f"{wide} columns")
    if rows == 0:
        return made
    for k in range(wide):
        doubles[k] = arrays[k].dtype == np.float64
        if arrays[k].shape != (rows,) or not (doubles[k] or arrays[k].dtype == np.int64):
            raise ValueError(f"{rows} rows of 64 bits, and column {k + 1} is {arrays[k].shape} of {arrays[k].dtype}")
        raw = arrays[k].view(np.int8)
        columns[k] = <void *>&raw[0]
    with nogil:
        end = write(begin, rows, wide, doubles, columns)
    del made[end - begin :]
    return made
