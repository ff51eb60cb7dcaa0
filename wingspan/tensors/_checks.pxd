"""The checks of arrays, as other extension modules use them."""

from cpython.buffer cimport Py_buffer
from libc.stdint cimport int64_t


cdef bint ascend(
    const Py_buffer *ptr, int64_t first, const Py_buffer *idx, int64_t least, int64_t children, int64_t fibers, int64_t extent
) noexcept
"""`ordered`, of arrays that are acquired."""

cdef bint integers(const Py_buffer *view) noexcept
"""Whether an array with one axis holds signed integers of 32 or 64 bits, where the processor wants them."""
