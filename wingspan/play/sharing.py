"""Programs in addresses: the fragment of an address holds the compressed text of a program."""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

from wingspan.base.errors import InputError
from wingspan.program import LONGEST

MARK = "#program="


def encode_program(text: str) -> str:
    """The fragment that holds a text."""
    return MARK + urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def decode_program(address: str) -> str:
    r"""The text in the fragment of an address. InputError if it has none, or if that is too long for a program.

    >>> decode_program("http://127.0.0.1:1/#program=eNqrULBVMOQCAAU2ATE")
    'x = 1\n'
    """
    _, mark, packed = address.partition(MARK)
    fix = "copy the address as a whole, in quotes"
    try:
        inflate = zlib.decompressobj()
        text = inflate.decompress(urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), LONGEST)
        if not mark or not inflate.eof:
            raise ValueError
        return text.decode()
    except (ValueError, zlib.error):
        raise InputError("this address holds no program", fix=fix) from None
