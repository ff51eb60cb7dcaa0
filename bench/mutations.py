"""Finds the place of a mutation in a file, and applies it.

In a Python module, a mutation is a change of the syntax tree: in one function, the expression or the statements of
`old` become those of `new`. Layout, comments and everything outside of the function may change freely. A body that is
only `...` stands for any statements, and in `new` for the same ones: `if x: ...` becomes `if not x: ...`. The
operations of a level, which are a string of its class, are functions, too: `Dense.operations.find`. Elsewhere a
mutation is a change of text: of `old`, which occurs once in a function of C or Cython or in a macro.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

HOLE = ast.dump(ast.parse("...").body[0])


UNCHANGED = "its new code is the old one"


class Misplaced(ValueError):
    """A mutation has no place in its file, or several, or it changes nothing."""


def mutate(text: str, suffix: str, function: str, old: str, new: str) -> str:
    """Apply a mutation to the text of a file that ends in `suffix`; of a Python module, layout and comments are lost.

    `function` is a dotted name of a function, class or variable; empty, it is the whole file. Misplaced if it is not
    there, if `old` does not occur in it exactly once, or if `new` is the same.
    """
    if suffix == ".py":
        tree = ParsePrograms().visit(ast.parse(text))
        mutate_tree(tree, function, old, new)
        return ast.unparse(ast.fix_missing_locations(PrintPrograms().visit(tree)))
    begin, end = text_region(text, suffix, function)
    require_one(text.count(old, begin, end), function)
    if old == new:
        raise Misplaced(UNCHANGED)
    place = text.index(old, begin, end)
    return text[:place] + new + text[place + len(old) :]


def require_one(count: int, function: str) -> None:
    """Raise Misplaced unless `old` occurs once."""
    if count != 1:
        raise Misplaced(f"its old code occurs {count} times in {function or 'the file'}")


# ----------------------------------------------------------------------------------------------------- syntax trees


@dataclass(frozen=True)
class Site:
    """Adjacent nodes that match a pattern: `value[begin:end]` of a list, or the field `name` of a node."""

    parent: ast.AST
    name: str
    begin: int
    end: int
    bodies: list[list[ast.stmt]]
    """the statements that the bodies `...` of the pattern match, in order"""

    def nodes(self) -> list[ast.AST]:
        """The nodes that match."""
        value = getattr(self.parent, self.name)
        return value[self.begin : self.end] if isinstance(value, list) else [value]

    def replace(self, nodes: list[ast.AST]) -> None:
        """Put others in their place; a body without statements becomes `pass`."""
        value = getattr(self.parent, self.name)
        if isinstance(value, list):
            value[self.begin : self.end] = nodes
            if self.name == "body" and not value:
                value.append(ast.Pass())
        else:
            setattr(self.parent, self.name, nodes[0])


def mutate_tree(tree: ast.AST, function: str, old: str, new: str) -> None:
    """Apply a mutation to the tree of a module, in place."""
    regions = list(definitions(tree, function)) if function else [tree]
    if not regions:
        raise Misplaced(f"there is no {function}")
    inside = {id(node) for region in regions for node in ast.walk(region)}
    before, after = parse_fragment(old), parse_fragment(new)
    if equal(before, after, []) and equal(after, before, []):
        raise Misplaced(UNCHANGED)
    if is_expression(before) and is_expression(after):
        before, after = [before[0].value], [after[0].value]  # type: ignore[attr-defined]
    sites = [site for site in sites_of(tree, before) if all(id(node) in inside for node in site.nodes())]
    require_one(len(sites), function)
    sites[0].replace(fill_holes(after, iter(sites[0].bodies)))


def parse_fragment(code: str) -> list[ast.AST]:
    """The statements of `old` or `new`; of code that begins with `case`, the cases of a `match`."""
    code = textwrap.dedent(code.strip("\n"))
    if code.startswith("case "):
        match = ast.parse("match _:\n" + textwrap.indent(code, " ")).body[0]
        assert isinstance(match, ast.Match)
        return list(match.cases)
    return list(ast.parse(code).body)


def is_expression(nodes: list[ast.AST]) -> bool:
    """Whether a fragment is one expression."""
    return len(nodes) == 1 and isinstance(nodes[0], ast.Expr)


def definitions(node: ast.AST, function: str) -> Iterator[ast.AST]:
    """The functions, classes and assigned variables of a dotted name below a node."""
    first, _, rest = function.partition(".")
    for child in ast.iter_child_nodes(node):
        names = defined_names(child)
        if first in names:
            yield from definitions(child, rest) if rest else (child,)
        elif not names:
            yield from definitions(child, function)


def defined_names(node: ast.AST) -> set[str]:
    """The names that a definition or an assignment binds; none for other nodes."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {target.id for target in targets if isinstance(target, ast.Name)}
    return set()


def sites_of(tree: ast.AST, pattern: list[ast.AST]) -> Iterator[Site]:
    """The sites below a node that match a pattern."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            nodes = value if isinstance(value, list) else [value]
            for begin in range(len(nodes) - len(pattern) + 1):
                end = begin + len(pattern)
                bodies: list[list[ast.stmt]] = []
                if equal(pattern, nodes[begin:end], bodies):
                    yield Site(parent, name, begin, end, bodies)


def equal(pattern: Any, value: Any, bodies: list[list[ast.stmt]]) -> bool:
    """Whether a value of a syntax tree is that of a pattern; append to `bodies` what its bodies `...` stand for."""
    if type(pattern) is not type(value):
        return False
    if isinstance(pattern, list):
        if is_hole(pattern):
            bodies.append(value)
            return True
        return len(pattern) == len(value) and all(equal(*pair, bodies) for pair in zip(pattern, value, strict=True))
    if isinstance(pattern, ast.AST):
        return all(equal(getattr(pattern, f, None), getattr(value, f, None), bodies) for f in pattern._fields)
    return bool(pattern == value)


def is_hole(value: list[Any]) -> bool:
    """Whether a list of nodes is a body `...`."""
    return len(value) == 1 and isinstance(value[0], ast.Expr) and ast.dump(value[0]) == HOLE


def fill_holes(nodes: list[ast.AST], bodies: Iterator[list[ast.stmt]]) -> list[ast.AST]:
    """Put the statements that match into the bodies `...` of a fragment, in order."""
    if is_hole(nodes):
        return list(next(bodies))
    for node in nodes:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, name, fill_holes(value, bodies))
    return nodes


class Program(ast.expr):
    """A string of functions, as their syntax trees."""

    _fields = ("body",)

    def __init__(self, body: list[ast.stmt], text: str) -> None:
        super().__init__()
        self.body, self.text, self.printed = body, text, ast.unparse(ast.Module(body, []))


class ParsePrograms(ast.NodeTransformer):
    """Replace strings of functions by their syntax trees."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        """Keep a string with fields, whose parts are no functions."""
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Parse a string that has a function."""
        if isinstance(node.value, str) and "def " in node.value:
            try:
                body = ast.parse(textwrap.dedent(node.value)).body
            except SyntaxError:
                return node
            if any(isinstance(each, ast.FunctionDef) for each in body):
                return Program(body, node.value)
        return node


class PrintPrograms(ast.NodeTransformer):
    """Print what `ParsePrograms` parsed; without a change, it stays the text that it was."""

    def visit_Program(self, node: Program) -> ast.Constant:
        """Indent the functions as before."""
        text = ast.unparse(ast.Module(node.body, []))
        margin = re.search(r"^ *(?=\S)", node.text, re.MULTILINE)
        assert margin is not None
        return ast.Constant(node.text if text == node.printed else "\n" + textwrap.indent(text, margin[0]) + "\n")


# ------------------------------------------------------------------------------------------------------------- text

HEADS = {
    ".pyx": r"^( *)(?:cdef |cpdef |def |class )[^\n=#]*\bNAME\b *[(:]",
    ".h": r"^( *)(?:#define |(?!#)\S[^\n;={]*\b)NAME\b(?![^\n]*;$)",
}
"""The first line of a definition, with its margin; of C, no prototype."""


def text_region(text: str, suffix: str, function: str) -> tuple[int, int]:
    """The begin and the end of a definition in C or Cython: its first line, and all that is indented below it.

    A dotted name is a method of a class; without a name, it is the whole text.
    """
    begin, end = 0, len(text)
    for name in filter(None, function.split(".")):
        head = re.compile(HEADS[suffix].replace("NAME", re.escape(name)), re.MULTILINE)
        heads = list(head.finditer(text, begin, end))
        heads = [head for head in heads if head[1] == min(head[1] for head in heads)]
        if len(heads) != 1:
            raise Misplaced(f"{function} is defined {len(heads)} times")
        begin, margin = heads[0].start(), heads[0][1]
        below = re.compile(r"\n(?!" + margin + r" |[{})#]|\n)")
        found = below.search(text, heads[0].end(), end)
        end = found.start() + 1 if found else end
    return begin, end
