"""The programs in a snapshot of Finch.jl's repository: what its tests, examples and pages give to its macros.

    FINCH=DIR python -m proofs_tests.lang.finch_programs

prints how many of them are programs here, and why the others are not. DIR is a work tree, or a Git directory. Nothing
of it is kept here.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wingspan.base.errors import ParseError
from wingspan.lang import ir
from wingspan.lang.parser import parse
from wingspan.lang.printer import show

FOLDERS = ("test", "docs", "benchmark")
_TOKEN = re.compile(r'#=.*?=#|#[^\n]*|"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|[^\W\d]\w*|\s|.', re.DOTALL)
_MACRO = re.compile(r"(?:Finch\.)?@finch(?:_code|_kernel|_program(?:_instance)?)?\b[ \t]*(?=[^\s`\])])")
_KERNEL = re.compile(r"(?:Finch\.)?@finch_kernel\s+(?:\w+\s*=\s*:\w+\s+)?function\s+\w+\([^()]*\)(.*)end", re.DOTALL)
_FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_OPENING = frozenset(["begin", "for", "let", "if", "while", "function", "quote", "do"])
_CONTINUOUS = re.compile(r"\bEps\b|\bd\(")
_SUMS = re.compile(r"\b(?:count|res)\[\] \+=")


@dataclass(frozen=True)
class Block:
    """A call of a macro, and its text; of a kernel, the statements in it."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def is_continuous(self) -> bool:
        """Whether it has axes of real numbers, which this language does not. Of what the files about these say, the
        last sums have none.
        """
        return ("continuous" in self.file and not _SUMS.search(self.text)) or bool(_CONTINUOUS.search(self.text))


def find_blocks(snapshot: Path) -> Iterator[Block]:
    """All blocks of a snapshot."""
    for name, text in read_sources(snapshot):
        parts = [(0, text)] if name.endswith(".jl") else [(m.start(1), m[1]) for m in _FENCED.finditer(text)]
        for offset, part in parts:
            for block in blocks_in(name, part):
                yield Block(name, block.line + text.count("\n", 0, offset), block.text)


def blocks_in(name: str, text: str) -> Iterator[Block]:
    """The blocks in some Julia code."""
    code = _TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0][0] in '#"' else m[0], text)
    for macro in _MACRO.finditer(code):
        found = text[macro.start() : argument_end(code, macro.end())]
        kernel = _KERNEL.fullmatch(found)
        yield Block(name, text.count("\n", 0, macro.start()) + 1, kernel[1].strip("\n") if kernel else found)


def argument_end(code: str, start: int) -> int:
    """The end of the arguments of a macro: that of the line, or the sign that closes more than they opened."""
    opened: list[str] = []
    end = start
    for token in _TOKEN.finditer(code, start):
        word = token[0]
        subscript = opened[-1:] == ["["]
        if word in ("(", "[", "{") or (word in _OPENING and not subscript):
            opened.append(word)
        elif word in (")", "]", "}") or (word == "end" and not subscript):
            if not opened:
                break
            opened.pop()
        elif not opened and (word in (",", ";") or (word == "\n" and end > start)):
            break
        end = token.end() if word.strip() else end
    return end


def read_sources(snapshot: Path) -> Iterator[tuple[str, str]]:
    """The files in which programs stand, with their texts."""
    if not (snapshot / "HEAD").is_file():
        for path in sorted(path for folder in FOLDERS for path in (snapshot / folder).rglob("*")):
            if path.suffix in (".jl", ".md"):
                yield str(path.relative_to(snapshot)), path.read_text(encoding="utf-8")
        return
    for name in git(snapshot, "ls-tree", "-r", "--name-only", "HEAD", *(f"{folder}/" for folder in FOLDERS)).split(
        "\n"
    ):
        if name.endswith((".jl", ".md")):
            yield name, git(snapshot, "show", f"HEAD:{name}")


def git(directory: Path, *words: str) -> str:
    done = subprocess.run(["git", "--git-dir", directory, *words], check=True, capture_output=True, text=True)
    return done.stdout


# ------------------------------------------------------------------------------------------------- complete programs


def complete(block: Block, functions: Sequence[ir.Function] = (), extent: int | None = None) -> str:
    """A block with definitions of its tensors: of the kinds that its expressions need, sparse where it only reads.

    Tensors get an extent where Finch.jl has one from an array that the block does not show.
    """
    tree = parse(block.text, str(block), functions)
    ranks: dict[str, int] = {}
    updated: set[str] = set()
    for access, updates in ir.accesses(tree.body):
        ranks[access.fiber.tensor] = len(access.subscripts)
        updated |= {access.fiber.tensor} if updates else set()
    kinds = infer_kinds(tree)
    lines = []
    for name, rank in ranks.items():
        made = f"Element({kinds.get(name, '0.0')})"
        for axis in range(rank):
            made = f"{'SparseList' if axis + 1 < rank and name not in updated else 'Dense'}({made})"
        lines.append(f"{name} = Tensor({', '.join([made, *[str(extent)] * (rank if extent else 0)])})")
    return "\n".join([*lines, show(tree)])


def infer_kinds(tree: ir.Program) -> dict[str, str]:
    """The fill values of tensors that are not of doubles, by where their elements stand."""
    kinds: dict[str, str] = {}
    values = {s.name: s.value for s in tree.walk() if isinstance(s, ir.Set)}

    def require(kind: str, *expressions: ir.Node) -> None:
        for e in expressions:
            e = values.get(e.name, e) if isinstance(e, ir.Variable) else e
            if isinstance(e, ir.Access):
                kinds.setdefault(e.fiber.tensor, kind)

    for node in tree.walk():
        match node:
            case ir.Access(subscripts=subscripts):
                require("0", *(inner for e in subscripts for inner in e.walk()))
            case ir.Call(op="&&" | "||" | "!", args=args):
                require("false", *args)
            case ir.If(condition=e) | ir.Choice(condition=e):
                require("false", e)
            case ir.Assign(access=target, op="&&" | "||", value=value):
                require("false", target, value)
            case ir.Assign(access=target, value=ir.Literal(kind="bool")):
                require("false", target)
            case ir.Assign(access=target, op="minby" | "maxby" as op, value=value):
                require("(Inf, 0)" if op == "minby" else "(-Inf, 0)", target, value)
            case ir.Assign(access=target, op=ir.Function()):
                require("0", target)
            case ir.Call(op="first" | "second", args=args):
                require("(Inf, 0)", *args)
            case ir.Call(op="&" | "|" | "⊻" | "<<" | ">>" | "~", args=args):
                require("0", *args)
    for node in tree.walk():
        if isinstance(node, ir.Declare) and node.init in (ir.Literal(False), ir.Literal(True)):
            kinds.setdefault(node.tensor, "false")
    return kinds


def device_parameters(tree: ir.Program) -> dict[str, str]:
    """A value for each device that a program does not define."""
    devices = [node.device for node in tree.walk() if isinstance(node, ir.Parallel)]
    return {device.name: f"cpu(:{device.name}, 2)" for device in devices if isinstance(device, ir.Variable)}


def main() -> None:
    """Print how many blocks are programs, and why the others are not."""
    blocks = [block for block in find_blocks(Path(os.environ["FINCH"])) if not block.is_continuous]
    reasons: Counter[str] = Counter()
    for block in blocks:
        try:
            parse(block.text)
        except ParseError as error:
            reasons[error.message] += 1
    print(f"{len(blocks) - reasons.total()} of {len(blocks)} blocks are programs as they are")
    for reason, count in reasons.most_common():
        print(f"{count:5}  {reason}")


if __name__ == "__main__":
    main()
