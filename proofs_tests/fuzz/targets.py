"""The readers, each as a target: bytes go in, and all that may come out is what they mean, or one wingspan error.

Files are read under a limit of memory, which depends on their size. What is accepted must be written and read back the
same, and mean the same to every engine that can run it.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import subprocess
from collections.abc import Iterator
from functools import cache, partial
from math import prod
from pathlib import Path

import h5py
import numpy as np
import scipy.sparse

from proofs_tests.fuzz import foreign_arrays, mutations, texts
from proofs_tests.fuzz.target import ELEMENTS, Target, folder, in_order, memory
from proofs_tests.lang.test_arbitrary_input import EXAMPLES, OURS, SMALL, TooLong, bounded
from proofs_tests.tensors.pydata import compressed, coordinates
from wingspan import Tensor, api, explorer
from wingspan.base.errors import InputError, Mistakes, ParseError
from wingspan.compiled.build import INCLUDES, compiler
from wingspan.elaborate import Elaborated
from wingspan.elaborate.parameters import read_parameters
from wingspan.explorer import checkpoint
from wingspan.explorer.interleaving import format_interleaving, parse_interleaving
from wingspan.lang.algebra import double, exact, literal
from wingspan.lang.printer import show
from wingspan.native.prepared import code_of
from wingspan.plan.layout import DTYPES
from wingspan.tensors.files import read_file
from wingspan.tensors.foreign import Filled

# ------------------------------------------------------------------------------------------------- programs and options


def check_program(data: bytes) -> None:
    """A program is printed and parsed again as the same, and if it is safe, all engines agree."""
    path = folder() / "p.ws"
    path.write_bytes(data)
    try:
        program = api.load(path)
    except (ParseError, InputError) as error:
        return in_order(error)
    assert api.parse(show(program.tree)).tree == program.tree
    try:
        bound = api.bind(program, params={"nt": 2, "sch": "static_schedule()"} if b"nt" in data else None)
        if sum(prod(tower.shape) for tower in bound.towers.values()) > ELEMENTS:
            return None
        api.run(bound, progress=bounded, engine="semantics")
        engines = ["semantics", "reference", "native-controlled", "native"]
        assert api.diff(bound, engines=engines).difference is None
    except TooLong:
        return None
    except (*OURS, api.Unsafe) as error:
        in_order(error)


def check_parameter(data: bytes) -> None:
    """A parameter is printed and read again as the same."""
    text = data.decode("utf-8", "replace")
    mistakes = Mistakes()
    read = read_parameters({"n": text}, mistakes)
    if mistakes.errors:
        return in_order(mistakes.errors[0])
    assert len(read.numbers) + len(read.definitions) == 1
    for number in read.numbers.values():
        if double(number.value) != number.value:
            return None  # the value is a rational, which no text of one number gives
        assert read_parameters({"n": show(number)}, Mistakes()).numbers["n"] == number
        try:
            bound = api.bind(api.parse("x = n"), params={"n": text})
            assert api.diff(bound).difference is None
        except (*OURS,) as error:
            in_order(error)


@cache
def replayed() -> tuple[Elaborated, Elaborated]:
    """Programs to replay on: one with tasks, and one without."""
    return api.bind(api.parse(EXAMPLES["dependent"])), api.bind(api.parse("x = 1"))


def check_interleaving(data: bytes) -> None:
    """An interleaving is printed and read again as the same, and every machine follows it as far as it matches."""
    text = data.decode("utf-8", "replace")
    try:
        tasks = parse_interleaving(text)
    except InputError as error:
        return in_order(error)
    if len(tasks) < ELEMENTS:
        assert parse_interleaving(format_interleaving(tasks)) == tasks
        for bound in replayed():
            for machine in api.MACHINES:
                run = api.replay(bound, text, machine=machine)
                for _ in run.steps:
                    pass
                assert run.end == "finished"
    return None


# ------------------------------------------------------------------------------------------------------ files of arrays


def check_array(suffix: str, data: bytes) -> None:
    """An array is written and read again as the same, and all engines have the same of it."""
    path = folder() / f"A{suffix}"
    path.write_bytes(data)
    try:
        with memory(len(data)):
            found = read_file(path)
    except InputError as error:
        return in_order(error)
    fill, array = (found.fill, found.array) if isinstance(found, Filled) else (0, found)
    leaf, rank = f"Element({literal(exact(fill)) if fill else '0.0'})", int(array.ndim)
    text = f"A = Tensor({'SparseDict(' * rank}{leaf}{')' * rank})\nreturn A"
    try:
        bound = api.bind(api.parse(text), inputs={"A": path})
        tensor = bound.inputs["A"]
        if prod(tensor.shape) > ELEMENTS:
            return None
        assert api.diff(bound).difference is None
    except (*OURS,) as error:
        return in_order(error)
    copy = folder() / f"B{suffix}"
    try:
        tensor.save(copy)
    except InputError as error:
        return in_order(error)
    again = Tensor.from_file(text.splitlines()[0][11:-1], copy)
    floats = tensor.tower.kind == "float"
    assert np.array_equal(again.to_numpy(), tensor.to_numpy(), equal_nan=floats)  # to the nearest double
    return None


def market_seeds() -> list[bytes]:
    """One file of each form and symmetry."""
    bodies = {
        "coordinate real general": "2 3 2\n1 1 1.5\n2 3 -4e-1\n",
        "coordinate integer symmetric": "% words\n3 3 2\n2 1 7\n3 3 2\n",
        "coordinate pattern general": "2 2 2\n2 1\n1 2\n",
        "coordinate integer skew-symmetric": "2 2 1\n2 1 -9223372036854775808\n",
        "coordinate unsigned-integer general": "2 2 1\n2 1 18446744073709551615\n",
        "array real general": "2 2\n1\n0\n3.5\n4\n",
        "array integer symmetric": "2 2\n1\n5\n3\n",
        "array double skew-symmetric": "3 3\n1\n2\n3\n",
    }
    return [f"%%MatrixMarket matrix {kind}\n{body}".encode() for kind, body in bodies.items()]


DENSE = [np.array([[1.5, 0], [2, -1]]), np.arange(6, dtype=">i2"), np.asfortranarray(np.eye(3) > 0), np.zeros((0, 2))]


def npy_seeds() -> list[bytes]:
    """Arrays of several kinds, orders and ranks."""
    made = []
    for array in [*DENSE, np.array(3), np.ones((2, 1, 2), dtype=np.uint8)]:
        file = io.BytesIO()
        np.save(file, array)
        made.append(file.getvalue())
    return made


def npz_seeds() -> list[bytes]:
    """Every format of SciPy and of pydata/sparse that is read, packed and not."""
    matrix = np.array([[1, 0, 0, 2], [0, 0, 3, 0]])
    made = []
    for number, form in enumerate((scipy.sparse.csc_array, scipy.sparse.csr_array, scipy.sparse.coo_array,
                                   scipy.sparse.bsr_matrix, scipy.sparse.dia_array)):  # fmt: skip
        file = io.BytesIO()
        scipy.sparse.save_npz(file, form(matrix * 0.5 if number % 2 else matrix), compressed=number % 2 == 0)
        made.append(file.getvalue())
    file = io.BytesIO()
    scipy.sparse.save_npz(file, scipy.sparse.coo_array(np.ones((2, 1, 2))))
    made.append(file.getvalue())
    for array in (compressed(matrix.reshape(2, 2, 2), 1), coordinates(matrix)):
        file = io.BytesIO()
        np.savez(file, **array.nodes())
        made.append(file.getvalue())
    return made


def tns_seeds() -> list[bytes]:
    """Tensors of rank 1 to 3, with comments and without, and with first lines or commas as others write them."""
    others = [b"2\n2 3\n1 2 4\n", b"; words\n2 2\n2 3\n1 2 4\n2 3 0.5\n", b"1,2,3.5\n2, 1 ,4\n"]
    return [b"# extents 3 4 5\n1 2 3 4.5\n3 4 5 -1e-3\n", b"2 1 7\n1 1 8\n", b"# words\n5 1.5\n5 2\n\n", *others]


def written(suffix: str, *tensors: Tensor) -> list[bytes]:
    """Tensors as the bytes of files."""
    made = []
    for tensor in tensors:
        tensor.save(folder() / f"seed{suffix}")
        made.append((folder() / f"seed{suffix}").read_bytes())
    return made


def image_seeds(suffix: str) -> list[bytes]:
    """A grey image, or one in colours."""
    image = np.array([[7, 0, 0, 255], [0, 9, 0, 1]])
    if suffix == ".ppm":
        return written(
            suffix, Tensor.from_numpy("Dense(Dense(Dense(Element(0))))", image.reshape(2, 4, 1).repeat(3, 2))
        )
    return written(suffix, Tensor.from_numpy("Dense(Dense(Element(0)))", image))


def arrow_seeds() -> list[bytes]:
    """A vector in runs, and others, as files and as streams."""
    vector = np.array([7, 7, 7, 0, 0, 1])
    tensors = (
        Tensor.from_numpy("RunList(Element(0))", vector),
        Tensor.from_numpy("Dense(Element(0.0))", vector / 2),
        Tensor.from_numpy("SparseRunList(Element(false))", vector > 1),
    )
    return written(".arrow", *tensors) + written(".arrows", *tensors)


def h5_seeds() -> list[bytes]:
    """The metadata and the arrays of tensors in each format that is written, as JSON."""
    matrix, made = np.array([[1.5, 0, 2], [0, 0, -1]]), []
    forms = (
        "Dense(Dense({}))",
        "Dense(SparseList({}))",
        "SparseList(SparseList({}))",
        "SparseList(SparseList(Dense({})))",
    )
    for form in (form.format("Element(0.5)" if "List(Dense" in form else "Element(0.0)") for form in forms):
        (data,) = written(".h5", Tensor.from_numpy(form, matrix if form.count("(") == 3 else matrix.reshape(2, 3, 1)))
        with h5py.File(io.BytesIO(data)) as root:
            arrays = {name: [array.dtype.name, array[...].tolist()] for name, array in root.items()}
            made.append(json.dumps({"text": json.loads(root.attrs["binsparse"]), "arrays": arrays}).encode())
    return made


def check_h5(data: bytes) -> None:
    """Read metadata and arrays as a `.h5` file; the container is a matter of HDF5."""
    file = io.BytesIO()
    try:
        described = json.loads(data)
        arrays = {name: np.array(values, dtype) for name, (dtype, values) in described["arrays"].items()}
        with h5py.File(file, "w") as root:
            root.attrs["binsparse"] = json.dumps(described["text"])
            for name, array in arrays.items():
                root[name] = array
    except Exception:  # it is no such description
        return
    check_array(".h5", file.getvalue())


# ---------------------------------------------------------------------------------------------------------- checkpoints


ABOUT = "a program"


@cache
def checkpoint_seeds() -> list[bytes]:
    """Searches that a bound has stopped."""
    made = []
    for strategy in ("graph", "dpor"):
        path = folder() / "seed"
        bound = replayed()[0]
        search = explorer.Search(strategy=strategy, max_states=30, checkpoint=path)
        explorer.explore(api.machine_of(bound, "semantics"), search, expected=None, about=ABOUT)
        made.append(path.read_bytes())
    return made


def check_checkpoint(data: bytes) -> None:
    """A checkpoint is read, or refused."""
    path = folder() / "search"
    path.write_bytes(data)
    try:
        with memory(len(data)):
            checkpoint.load_search(path, ABOUT)
    except InputError as error:
        assert error.message


# ------------------------------------------------------------------------------------------- inputs of printed programs

PRINTED = """
dev = cpu(:t, 2)
A = Tensor(Dense(SparseList(Element(0.0))))
B = Tensor(Dense(Shard(dev, SparseDict(Element(0)))))
x = A[1, 1] + B[1, 1]
return A
"""

HARNESS = """
#define main ws_unused_main
#include "printed.c"
#undef main
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        ws_session *s = ws_session_open();
        FILE *file = fopen(argv[i], "rb");
        ws_session_limit(s, 64 << 20);
        puts(ws_read(s, file) ? "refused" : "read");
        fclose(file);
        ws_session_close(s);
    }
    return 0;
}
"""
"""Reads files of inputs as a printed program does, and runs nothing."""


@cache
def printed_program() -> Elaborated:
    """A program whose inputs have instances with keys, and a hash table."""
    A, B = scipy.sparse.csc_array([[1.5, 0], [2, -1]]), np.array([[0, 7], [8, 1], [2, 0]])
    return api.bind(api.parse(PRINTED, "printed.ws"), inputs={"A": A, "B": B})


@cache
def printed() -> tuple[Path, bytes]:
    """The reader of a printed program, compiled with sanitizers, and inputs for it."""
    program = printed_program()
    for path in api.emit_c(program, folder(), main=True):
        path.rename(path.with_name(path.name.replace("program.c", "printed.c")))
    (folder() / "harness.c").write_text(HARNESS)
    options = ["-std=gnu11", "-w", "-fwrapv", "-pthread", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
    command = [*(compiler() or ["cc"]), *options, *INCLUDES, "harness.c", "-lm", "-o", "harness"]
    subprocess.run(command, cwd=folder(), check=True)
    return folder() / "harness", (folder() / "program.inputs").read_bytes()


def heads(data: bytes) -> Iterator[int]:
    """The offsets of the numbers in a file of inputs that say how to read it: heads of records and keys."""
    program = printed_program()
    widths = {(b.group, b.number): 16 if b.hashed else np.dtype(DTYPES[b.width]).itemsize
              for group in code_of(program).plan.groups for b in group.buffers}  # fmt: skip
    at = mutations.RECORDS
    while at < len(data):
        group, buffer, keys, cells = struct.unpack("<4q", data[at : at + 32])
        yield from range(at, at + 32 + 8 * keys, 8)
        at += 32 + 8 * keys + -(-cells * widths[group, buffer] // 8) * 8


def inputs_read(files: list[bytes]) -> list[str]:
    """The printed program's answer to each file: read or refused. It stays within its memory."""
    command, _ = printed()
    paths = []
    for number, data in enumerate(files):
        paths.append(folder() / f"{number}.inputs")
        paths[-1].write_bytes(data)
    environment = {"ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=256:detect_leaks=0"}
    made = subprocess.run([command, *paths], env=environment, capture_output=True, text=True)
    refused = "WARNING: AddressSanitizer failed to allocate"  # more than a file of that size can hold
    reports = [line for line in made.stderr.splitlines() if refused not in line]
    assert (made.returncode, reports) == (0, []), made.stderr[:3000]
    return made.stdout.split()


def check_inputs(data: bytes) -> None:
    """A file that a printed program reads has the right checksum."""
    (said,) = inputs_read([data])
    assert said in ("read", "refused")


TARGETS = {
    target.name: target
    for target in (
        Target("program", lambda: [EXAMPLES[name].encode() for name in SMALL], mutations.program, check_program),
        Target("mtx", market_seeds, mutations.matrix_market, partial(check_array, ".mtx")),
        Target("npy", npy_seeds, mutations.npy, partial(check_array, ".npy")),
        Target("npz", npz_seeds, mutations.npz, partial(check_array, ".npz")),
        Target("tns", tns_seeds, mutations.matrix_market, partial(check_array, ".tns")),
        Target(
            "tns.gz", lambda: [gzip.compress(text) for text in tns_seeds()], mutations.packed_text,
            partial(check_array, ".tns.gz"),
        ),
        Target("pgm", partial(image_seeds, ".pgm"), mutations.raw, partial(check_array, ".pgm")),
        Target("ppm", partial(image_seeds, ".ppm"), mutations.raw, partial(check_array, ".ppm")),
        Target("png", partial(image_seeds, ".png"), mutations.raw, partial(check_array, ".png")),
        Target("arrow", arrow_seeds, mutations.raw, partial(check_array, ".arrow")),
        Target(
            "parameter", lambda: [b"4", b"-1.5", b"true", b"cpu(:t, 2)", b"dynamic_schedule(2)", b"min(7 % 2, 3)"],
            mutations.parameter, check_parameter,
        ),
        Target("interleaving", lambda: [b"1*3,2,1,2*3", b"-", b"0,1.2*3"], mutations.interleaving, check_interleaving),
        Target("checkpoint", checkpoint_seeds, mutations.checkpoint, check_checkpoint),
        Target("inputs", lambda: [printed()[1]], mutations.inputs, check_inputs),
        Target("einsum", texts.einsum_seeds, mutations.program, texts.check_einsum),
        Target("log", texts.log_seeds, mutations.log, texts.check_log),
        Target("watch", texts.watch_seeds, mutations.program, texts.check_watch),
        Target("format", texts.format_seeds, mutations.program, texts.check_format),
        Target("member", texts.member_seeds, mutations.member, texts.check_member),
        Target("compressed", foreign_arrays.seeds, mutations.json_text, foreign_arrays.check),
        Target("h5", h5_seeds, mutations.json_text, check_h5),
    )
}  # fmt: skip
