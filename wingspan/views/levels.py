"""The sizes of a tensor's levels, as a table."""

from __future__ import annotations

from wingspan.tensors.tensor import Tensor


def sizes(tensor: Tensor) -> str:
    """A line for each level, outermost first: its number and name, its bytes, and those of each buffer."""
    rows = [("level", "bytes", "")]
    total = 0
    for level in tensor.sizes():
        buffers = level["buffers"]
        total += sum(buffers.values())
        each = ", ".join(f"{name} {size:,}" for name, size in buffers.items())
        rows.append((f"{level['level']} {level['name']}", f"{sum(buffers.values()):,}", each))
    rows.append(("all", f"{total:,}", f"{tensor.nnz:,} {'element is' if tensor.nnz == 1 else 'elements are'} stored"))
    wide, digits = (max(len(row[k]) for row in rows) for k in (0, 1))
    return "\n".join(f"{name:{wide}}  {size:>{digits}}  {each}".rstrip() for name, size, each in rows)
