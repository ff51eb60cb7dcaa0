"""Changes of files and texts. Each takes its choices from a `Random`, so that Hypothesis and a fuzzer can make them."""

from __future__ import annotations

import gzip
import io
import re
import struct
import zipfile
from random import Random

from proofs_tests.lang.test_arbitrary_input import ODDITIES, TOKEN, WORDS
from wingspan.compiled.inputs import HEAD, checksum

INTEGERS = (0, 1, -1, 2, 3, 7, 8, 64, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, -(2**63))
ODD_NUMBERS = ("1.5", "-0.0", "1e400", "nan", "inf", "x", "", "9" * 5000, "1e-400", "0x1", "1_0")
NUMBERS = [*map(str, INTEGERS), *ODD_NUMBERS]


def raw(random: Random, data: bytes) -> bytes:
    """Bytes changed, cut, doubled or moved, whatever they mean."""
    if not data:
        return random.choice([b"\0", b"\xff", b"\n", b"PK\x03\x04"])
    at = random.randrange(len(data))
    end = min(len(data), at + random.choice([1, 1, 2, 4, 8, 40]))
    match random.randrange(6):
        case 0:
            return data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at]
        case 2:
            return data[:at] + data[end:]
        case 3:
            return data[:at] + data[at:end] * random.choice([2, 2, 100]) + data[end:]
        case 4:
            width = random.choice(["<b", "<h", "<i", "<q"])
            value = random.choice(INTEGERS) & (1 << 8 * struct.calcsize(width)) - 1
            return data[:at] + struct.pack(width.upper(), value) + data[at + struct.calcsize(width) :]
    return data + random.choice([b"\0", b"\n", b"\x1a", data[:at]])


def words(random: Random, data: bytes, pieces: re.Pattern[str], others: list[str]) -> bytes:
    """A text of which words are dropped, doubled, swapped, replaced, or followed by another one."""
    parts = pieces.findall(data.decode("utf-8", "replace"))
    for _ in range(random.choice([1, 1, 2, 4])):
        at = random.randrange(len(parts)) if parts else 0
        other = random.choice(others)
        match random.randrange(5):
            case 0 if parts:
                del parts[at : at + random.choice([1, 2, 5])]
            case 1 if parts:
                parts[at:at] = parts[at : at + random.choice([1, 2, 5])]
            case 2 if parts:
                to = random.randrange(len(parts))
                parts[at], parts[to] = parts[to], parts[at]
            case 3 if parts:
                parts[at] = other
            case _:
                parts.insert(at, other)
    return "".join(parts).encode("utf-8", "replace")


def program(random: Random, data: bytes) -> bytes:
    """A program with some of its tokens changed."""
    return words(random, data, TOKEN, [*WORDS, *ODDITIES, *NUMBERS])


BLANKS = re.compile(r"\s+|\S+")
MATRIX_WORDS = [
    *NUMBERS, "coordinate", "array", "real", "double", "integer", "unsigned-integer", "pattern", "complex", "general",
    "symmetric", "skew-symmetric", "hermitian", "%", "\n", "\r\n", "\ufeff", "%%MatrixMarket", "\0", "matrix", "vector",
]  # fmt: skip


def matrix_market(random: Random, data: bytes) -> bytes:
    """A Matrix Market file with some of its words changed."""
    return words(random, data, BLANKS, MATRIX_WORDS)


def packed_text(random: Random, data: bytes) -> bytes:
    """A text that gzip packed, changed before or after that, or with another one behind it."""
    try:
        text = gzip.decompress(data)
    except Exception:  # the fuzzer has changed it already
        return raw(random, data)
    match random.randrange(4):
        case 0:
            return raw(random, data)
        case 1:
            return data + gzip.compress(text)
    return gzip.compress(matrix_market(random, text))


NPY_FIELDS = re.compile(rb"'descr': '[^']*'|'fortran_order': \w+|'shape': \([^)]*\)|\d+|\}")
NPY_VALUES = [
    b"'descr': '<f8'", b"'descr': '>i2'", b"'descr': '|O'", b"'descr': '|b1'", b"'descr': '<U9'", b"'descr': '|V8'",
    b"'descr': '<f16'", b"'descr': '<c16'", b"'descr': '<M8[s]'", b"'descr': [('a', '<f8')]", b"'descr': '|S0'",
    b"'fortran_order': True", b"'fortran_order': 1", b"'shape': ()", b"'shape': (0, 1000000000000000000)",
    b"'shape': (-1, 2)", b"'shape': (4294967296, 4294967296)", b"'shape': (True,)", b"'shape': (2.0,)", b"'shape': [3]",
    b"0", b"3", b"99999999999999999999", b"1000000000000", b"-8", b"}", b"'x': " + b"-" * 3000 + b"1}",
]  # fmt: skip


def npy(random: Random, data: bytes) -> bytes:
    """An array with a field of its header changed, and the length of the header kept right or not."""
    if data[:6] != b"\x93NUMPY" or len(data) < 12 or not random.randrange(4):
        return raw(random, data)
    (length,) = struct.unpack("<H", data[8:10])
    head, body = data[10 : 10 + length], data[10 + length :]
    found = list(NPY_FIELDS.finditer(head))
    if found:
        place = random.choice(found)
        head = head[: place.start()] + random.choice(NPY_VALUES) + head[place.end() :]
    if random.randrange(3):
        length = len(head)
    version = random.choice([b"\1\0"] * 6 + [b"\2\0", b"\3\0", b"\xff\xff"])
    size = struct.pack("<H", length & 0xFFFF) if version != b"\2\0" else struct.pack("<I", length)
    return b"\x93NUMPY" + version + size + head + body


def npz(random: Random, data: bytes) -> bytes:
    """An archive with a member changed, renamed, left out, doubled or packed in another way, or its directory."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [info.filename for info in archive.infolist() if info.file_size < 2**20]
            members = [(name, archive.read(name)) for name in names]
    except Exception:  # the fuzzer has changed it already
        return raw(random, data)
    if not members or not random.randrange(3):
        return directory(random, data)
    at = random.randrange(len(members))
    name, contents = members[at]
    match random.randrange(6):
        case 0:
            del members[at]
        case 1:
            members[at] = random.choice(members)[0], contents
        case 2:
            form = random.choice(["csc", "csr", "coo", "bsr", "dia", "lil", "x" * 50])
            members[at] = name, contents.replace(b"csc", form.encode()).replace(b"coo", form.encode())
        case _:
            members[at] = name, npy(random, contents)
    method = random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED] * 3 + [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    return packed(members, method)


def packed(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file with these members; a name may occur twice."""
    made = io.BytesIO()
    names = set()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, contents in members:
            if name not in names:
                archive.writestr(name, contents)
            names.add(name)
    return made.getvalue()


def directory(random: Random, data: bytes) -> bytes:
    """A zip file with one field changed: of the directory, of its end, or of what stands before a member."""
    marks = {b"PK\x01\x02": (4, 42), b"PK\x05\x06": (4, 18), b"PK\x03\x04": (4, 26)}
    places = [(found.start(), mark) for mark in marks for found in re.finditer(re.escape(mark), data)]
    if not places:
        return raw(random, data)
    start, mark = random.choice(places)
    first, last = marks[mark]
    at = start + random.randrange(first, last + 1, 2)
    width = random.choice(["<H", "<I"])
    value = random.choice(INTEGERS) & (1 << 8 * struct.calcsize(width)) - 1
    return data[:at] + struct.pack(width, value) + data[at + struct.calcsize(width) :]


TASKS = re.compile(r"\d+|.", re.DOTALL)
TASK_WORDS = [*NUMBERS, "0", "1", "2", "1.1", "2*3", "*", ",", ".", "-", " ", "\n", "1*10000001", "²", "१", "\0"]


def interleaving(random: Random, data: bytes) -> bytes:
    """An interleaving with some of its tasks and numbers of steps changed."""
    return words(random, data, TASKS, TASK_WORDS)


def parameter(random: Random, data: bytes) -> bytes:
    """A parameter with some of its tokens changed."""
    others = ["cpu(2)", "cpu(:t, 2, d)", "dynamic_schedule(0)", "static_schedule()", "n", "÷ 0", "2^63", "isqrt(-1)"]
    return words(random, data, TOKEN, [*NUMBERS, *others, *ODDITIES])


def checkpoint(random: Random, data: bytes) -> bytes:
    """A checkpoint with its head changed as JSON, or as a zip file."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
    except Exception:  # the fuzzer has changed it already
        return raw(random, data)
    if not members or not random.randrange(3):
        return directory(random, data)
    at = random.randrange(len(members))
    name, contents = members[at]
    if name == "head":
        others = ["null", "[]", "{}", "1e999", '"', "-1", "true", ",", "[" * 3000, *NUMBERS]
        members[at] = name, words(random, contents, re.compile(r'"[^"]*"|-?\d+|.', re.DOTALL), others)
    elif random.randrange(4):
        members[at] = name, raw(random, contents)
    else:
        del members[at]
    return packed(members, zipfile.ZIP_STORED)


def inputs(random: Random, data: bytes) -> bytes:
    """The inputs of a printed program with a number of a record's head changed, under a checksum that fits or not."""
    heads = list(range(RECORDS, max(RECORDS + 1, len(data) - 32), 8))
    if not random.randrange(3):
        return raw(random, data)
    at = random.choice(heads)
    value = random.choice([*INTEGERS, 4, 5]) & 2**64 - 1
    records = data[RECORDS:at] + struct.pack("<Q", value) + data[at + 8 :]
    if not random.randrange(4):
        records = records[: random.randrange(len(records))]
    return sealed(data, records)


LOG_WORDS = [
    *NUMBERS, "0", "1.2", "01", "read", "write", "look", "atomic", "acquire", "release", "signal", "wait", "join", "#",
    "c[1]", "C[1, 2]", "c.val[3]", "c.2.ptr[1]",
    "c⟨dev 1⟩[1]", "[", "]", ",", "⟨", "\n", "\r", "\u2028", "\ufeff", "\0",
    "é",
]  # fmt: skip


def log(random: Random, data: bytes) -> bytes:
    """A log with some of its words changed."""
    return words(random, data, BLANKS, LOG_WORDS)


NAMES = re.compile(r"[A-Za-z0-9]+|.", re.DOTALL)
NAME_WORDS = [
    ":", "/", ".", "..", "a", "b", "red", "alpha", "group", "x", "npz", "h5", "arrow", "ppm", "mtx", "gz", "tns", "",
    " ", "\0", "\n", "\x1b[31m", "é", "\u202e", "-", "~", "$HOME", "%00", "a" * 300,
]  # fmt: skip


def member(random: Random, data: bytes) -> bytes:
    """The name of a file or of a member of it with some of its words changed."""
    return words(random, data, NAMES, NAME_WORDS)


JSON_TOKEN = re.compile(r'"[^"]*"|-?\d+(?:\.\d+)?|.', re.DOTALL)
JSON_WORDS = [
    *map(str, INTEGERS), "0.5", "-0.0", "NaN", "Infinity", "null", "true", "[]", "{}", '""', "4", "5", "6", "[1]",
    '"int32"', '"int64"', '"uint8"', '"uint64"', '"float32"', '"float64"', '"bool"', '"complex128"', '"iso[float64]"',
    '"bint8"', '"values"', '"indices_0"', '"indices_1"', '"pointers_to_1"', '"index_base"', '"fill"', '"fill_value"',
    '"CSR"', '"COO"', '"DCSR"', '"custom"', '"dense"', '"sparse"', '"symmetric_lower"', '"structure"',
]  # fmt: skip


def json_text(random: Random, data: bytes) -> bytes:
    """JSON with some of its values changed."""
    return words(random, data, JSON_TOKEN, JSON_WORDS)


RECORDS = len(HEAD) + 24
"""The offset of the records of a file of inputs: after its head, the program's identity, their length and checksum."""


def sealed(data: bytes, records: bytes) -> bytes:
    """A file of inputs for the same program as `data`, with these records, their length and their checksum."""
    whole = records + bytes(-len(records) % 8)
    return data[: len(HEAD) + 8] + struct.pack("<2Q", len(whole), checksum(whole)) + whole
