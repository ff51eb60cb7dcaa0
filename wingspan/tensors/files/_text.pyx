"""Lines of numbers, read and written in one pass: what text files of tensors consist of."""

from cpython.mem cimport PyMem_Free
from libc.math cimport isinf
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *text, char **end, void *overflow) except? -1.0
    char *PyOS_double_to_string(double value, char code, int precision, int flags, int *kind) except NULL
    int Py_DTSF_ADD_DOT_0

cdef enum:
    MOST = 32  # columns
    LONGEST = 1100  # digits: no double has more
    DIGITS = 19  # that 64 bits hold, whatever they are
    WIDEST = 26  # characters that a number takes, with what follows it

cdef double POWERS[23]
cdef int _k
POWERS[0] = 1.0
for _k in range(1, 23):
    POWERS[_k] = POWERS[_k - 1] * 10.0


cdef bint digit(char c) noexcept:
    return c >= c"0" and c <= c"9"


cdef bint blank(char c) noexcept:
    return c == c" " or c == c"\t"


cdef const char *integer(const char *p, int64_t *out) noexcept:
    """Where an integer ends that begins here; NULL if there is none, or 64 bits do not hold it."""
    cdef bint negative = p[0] == c"-"
    cdef uint64_t value = 0, most = <uint64_t>1 << 63
    cdef int digits = 0
    if p[0] == c"-" or p[0] == c"+":
        p += 1
    if not digit(p[0]):
        return NULL
    while p[0] == c"0":
        p += 1
    while digit(p[0]):
        value = value * 10 + <uint64_t>(p[0] - c"0")
        digits += 1
        p += 1
        if digits > DIGITS:
            return NULL
    if value > most or (value == most and not negative):
        return NULL
    out[0] = <int64_t>(0 - value) if negative else <int64_t>value
    return p


cdef const char *number(const char *p, double *out) except? NULL:
    """Where a number ends that begins here; NULL if there is none. It is rounded to the nearest double.

    Infinity and NaN are words (inf, infinity, nan); a number in digits that is larger than every double is none.
    """
    cdef const char *begin = p
    cdef const char *first
    cdef uint64_t mantissa = 0
    cdef int64_t exponent = 0, more = 0
    cdef int digits = 0, there = 0
    cdef bint negative = p[0] == c"-", down, word = False
    cdef char text[2 * LONGEST]
    if p[0] == c"-" or p[0] == c"+":
        p += 1
    if (p[0] | 32) == c"n" or (p[0] | 32) == c"i":
        if not ((p[0] | 32) == c"n" and (p[1] | 32) == c"a" and (p[2] | 32) == c"n"
                or (p[0] | 32) == c"i" and (p[1] | 32) == c"n" and (p[2] | 32) == c"f"):
            return NULL
        p += 3
        for letter in b"inity" if (begin[p - begin - 3] | 32) == c"i" and (p[0] | 32) == c"i" else b"":
            if (p[0] | 32) != letter:
                return NULL
            p += 1
        word = True
    else:
        first = p
        while digit(p[0]):
            mantissa = mantissa * 10 + <uint64_t>(p[0] - c"0")
            digits += mantissa != 0
            p += 1
        if p - first > LONGEST:
            return NULL
        there = <int>(p - first)
        if p[0] == c".":
            p += 1
            first = p
            while digit(p[0]):
                mantissa = mantissa * 10 + <uint64_t>(p[0] - c"0")
                digits += mantissa != 0
                exponent -= 1
                p += 1
            if p - first > LONGEST:
                return NULL
            there += <int>(p - first)
        if there == 0:
            return NULL
        if (p[0] | 32) == c"e":
            p += 1
            down = p[0] == c"-"
            if p[0] == c"-" or p[0] == c"+":
                p += 1
            first = p
            while digit(p[0]):
                if more < 100_000:
                    more = more * 10 + (p[0] - c"0")
                p += 1
            if p == first or p - first > LONGEST:
                return NULL
            exponent += -more if down else more
        if digits <= DIGITS and mantissa <= <uint64_t>1 << 53 and -22 <= exponent <= 22:
            out[0] = <double>mantissa
            out[0] = out[0] * POWERS[exponent] if exponent >= 0 else out[0] / POWERS[-exponent]
            if negative:
                out[0] = -out[0]
            return p
    if p - begin >= 2 * LONGEST:
        out[0] = float((<bytes>begin[: p - begin]))
        return NULL if isinf(out[0]) else p
    memcpy(text, begin, p - begin)
    text[p - begin] = 0
    out[0] = PyOS_string_to_double(text, NULL, NULL)
    return NULL if isinf(out[0]) and not word else p


def columns(bytes block, str kinds):
    """The columns of lines that hold an integer (`i`) or a double (`d`) for each letter, as arrays of 64 bits.

    Words are separated by blanks, lines end with a newline, and may be blank. None if a line is anything else, or an
    integer does not fit.
    """
    cdef int wide = len(kinds), k
    cdef Py_ssize_t rows = block.count(b"\n"), row = 0
    cdef int64_t *whole[MOST]
    cdef double *real[MOST]
    cdef bint doubles[MOST]
    cdef int64_t[::1] ints
    cdef double[::1] floats
    cdef const char *p = block
    cdef const char *end = p + len(block)
    if not 0 < wide <= MOST or not block.endswith(b"\n"):
        return None
    made = [np.empty(max(rows, 1), dtype=np.float64 if kind == "d" else np.int64) for kind in kinds]
    for k in range(wide):
        doubles[k] = kinds[k] == "d"
        if doubles[k]:
            floats = made[k]
            real[k] = &floats[0]
        else:
            ints = made[k]
            whole[k] = &ints[0]
    while True:
        while p < end and (blank(p[0]) or (p[0] >= c"\n" and p[0] <= c"\r")):
            p += 1
        if p == end:
            return [column[:row] for column in made]
        for k in range(wide):
            if k and not blank(p[0]):
                return None
            while blank(p[0]):
                p += 1
            p = number(p, &real[k][row]) if doubles[k] else integer(p, &whole[k][row])
            if p == NULL:
                return None
        while blank(p[0]) or (p[0] > c"\n" and p[0] <= c"\r"):
            p += 1
        if p[0] != c"\n":
            return None
        row += 1


def lines(list arrays):
    """The rows of columns of 64 bits, integers and doubles, as lines. Doubles are written so that they are read back."""
    cdef int wide = len(arrays), k, length
    cdef Py_ssize_t rows = len(arrays[0]), row
    cdef int64_t *whole[MOST]
    cdef double *real[MOST]
    cdef bint doubles[MOST]
    cdef const int64_t[::1] ints
    cdef const double[::1] floats
    cdef char digits[24]
    cdef char *text
    cdef uint64_t value
    cdef bytearray made = bytearray(rows * wide * WIDEST)
    cdef char *p = made
    cdef char *begin = p
    if not 0 < wide <= MOST:
        raise ValueError(f"{wide} columns")
    if rows == 0:
        return b""
    for k in range(wide):
        doubles[k] = arrays[k].dtype.kind == "f"
        if doubles[k]:
            floats = arrays[k]
            real[k] = <double *>&floats[0]
        else:
            ints = arrays[k]
            whole[k] = <int64_t *>&ints[0]
    for row in range(rows):
        for k in range(wide):
            if doubles[k]:
                text = PyOS_double_to_string(real[k][row], c"r", 0, Py_DTSF_ADD_DOT_0, NULL)
                length = 0
                while text[length]:
                    p[length] = text[length]
                    length += 1
                p += length
                PyMem_Free(text)
            else:
                value = <uint64_t>whole[k][row]
                if whole[k][row] < 0:
                    p[0] = c"-"
                    p += 1
                    value = 0 - value
                length = 0
                while value >= 10 or length == 0:
                    digits[length] = c"0" + <char>(value % 10)
                    value = value // 10
                    length += 1
                if value:
                    digits[length] = c"0" + <char>value
                    length += 1
                while length:
                    length -= 1
                    p[0] = digits[length]
                    p += 1
            p[0] = c"\n" if k == wide - 1 else c" "
            p += 1
    return bytes(made[: p - begin])
