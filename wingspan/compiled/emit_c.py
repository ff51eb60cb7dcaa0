"""Plans as C: one readable file on runtime.h and program.h, with a function for each parallel region and nest of loops.

The file trusts that tasks do not race, which `wingspan check` finds out: it looks where cells lie once for each
instance, and checks only whether those that it writes have room. Read-only inputs lie where their owner has them; the
indices and pointers of a last SparseList count from 0 there, as SciPy's do.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from wingspan.compiled.expressions import constant, expression
from wingspan.compiled.functions import FunctionWriter
from wingspan.compiled.headers import COMPILE, OWN_CODE, PRINTED
from wingspan.compiled.inputs import identity
from wingspan.compiled.lexical import comment, indent, string
from wingspan.compiled.printing import Printing
from wingspan.compiled.registers import Names
from wingspan.compiled.sites import Site
from wingspan.plan.ir import Group, Plan, Stmt, walk
from wingspan.plan.kernels import Tile
from wingspan.plan.passes import tile
from wingspan.plan.pipeline import for_c
from wingspan.plan.uses import registers


def emit_c(made: Plan, name: str = "program", main: bool = False) -> str:
    """A plan as a C file, to be called `name`.c. With a `main`, it reads inputs, if any, from `name`.inputs.

    No text of the program and no name gets out of the comment or the string that it is printed in.
    """
    printing = Printing(for_c(made))
    code = _code(printing, "root")
    lines = [*_head(name, main), *_includes(["session.h"], printing.plan.body), "", *_groups(printing.plan), *code]
    lines += _tables(printing, identity(made))
    if main:
        inputs = string(f"{name}.inputs") if made.inputs else "NULL"
        lines += ["int main(int argc, char **argv) {", f"    return ws_main(argc, argv, {inputs});", "}"]
    return "\n".join(lines) + "\n"


def together(plans: Iterable[Plan], racy: bool = False) -> tuple[str, list[tuple[Sequence[Site], Sequence[Group]]]]:
    """Plans as one C file, whose array `ws_bodies` has what runs each; where each may fail, and the groups it has then.

    What such a file includes, the compiler reads once: for a small plan alone that takes longer than the plan. `racy`:
    tasks may race. Each access to a buffer is checked then, and made as the run orders accesses. If they may not, the
    indices of results count from 0 (`borrowing.zero_based`).
    """
    names = Names()
    bodies: list[str] = []
    code: list[str] = []
    every: list[Printing] = []
    for k, made in enumerate(plans):
        every.append(Printing(made if racy else for_c(made), racy, names, results_from_zero=True))
        bodies.append(f"ws_body_{k}")
        code += _code(every[-1], bodies[-1])
    includes = _includes(["program.h"], [s for each in every for s in each.plan.body])
    lines = [*includes, "", *code, f"const ws_body ws_bodies[] = {{{', '.join(bodies)}}};"]
    return "\n".join(lines) + "\n", [(list(each.sites), each.plan.groups) for each in every]


def _includes(headers: Sequence[str], body: Iterable[Stmt]) -> list[str]:
    """The headers of a file. Those that compare lists take the compiler long, and few plans need them."""
    kinds = {type(s) for s in walk(tuple(body))}
    lists = (header for kind, header in OWN_CODE.items() if header and kind in kinds)
    sizes = [f"#define WS_TILE {tile.WIDTH}"] if Tile in kinds else []
    return [*sizes, *(f'#include "{header}"' for header in (*headers, *lists))]


def _code(printing: Printing, root: str) -> list[str]:
    """The functions of a plan, the one called `root` last, which runs it."""
    plan, names = printing.plan, printing.names
    ends = [reg for e in plan.ends for reg in registers(e)]
    body = FunctionWriter(printing, plan.body, (*printing.roots, *printing.parameters), ends)
    lines = [f"const int64_t {names.register(reg)} = values[{k}].i;" for reg, k in printing.parameters.items()]
    lines += [f"ws_instance *const {names.register(reg)} = ws_root(t, {g.id});" for reg, g in printing.roots.items()]
    for reg in printing.roots:
        lines.append(f"WS_TRY({names.register(reg)}, {printing.site(None, '')});")
        lines += body.cells(reg)
    lines += body.lines()
    for k, e in enumerate(plan.ends):
        lines.append(f"values[{k}].{e.type.member} = {expression(e, names)};")
    head = [f"static void {root}(ws_task *t, void *frame) {{", "    ws_value *const values = frame;"]
    return [*printing.functions, *head, "    (void)t, (void)values;", *indent(lines), "}", ""]


def _head(name: str, main: bool) -> Iterator[str]:
    """The comment at the top: the purpose of the file, and how to compile it."""
    at = f"./{name}" if name.startswith("-") else name
    how = [*COMPILE, f"{at}.c", "-lm", "-o", at] if main else [*COMPILE, "-shared", "-fPIC", f"{at}.c", "-lm", "-o"]
    yield comment(f"{PRINTED}. It includes the headers beside it, and is compiled by")
    yield comment(shlex.join(how if main else [*how, f"{at}.so"]))


def _groups(plan: Plan) -> Iterator[str]:
    """The buffers of instances."""
    for g in plan.groups:
        yield f"static const ws_shape shapes_{g.id}[] = {{"
        for b in g.buffers:
            about = "shared" if b.depth < 0 else f"{b.name}, level {b.level} {b.level_name}"
            shape = f"{{WS_{b.width.upper()}, {constant(b.hashed)}, {constant(b.bound)}, {constant(b.assigned)}}}"
            yield f"    {shape}, {comment(f'{b.tensor}: {about}')}"
        yield from ("};", "")


def _tables(printing: Printing, identity: int) -> Iterator[str]:
    """The facts about the program that session.h needs."""
    plan = printing.plan
    yield "static const ws_group groups[] = {"
    for g in plan.groups:
        parent = -1 if g.parent is None else g.parent
        shape = f".keys = {g.keys}, .buffers = {len(g.buffers)}, .shapes = shapes_{g.id}"
        yield f"    {{.parent = {parent}, {shape}}},"
    yield from ("};", "", "static const ws_title titles[] = {")
    yield from (f"    {_title(g, g.tensor in plan.outputs)}," for g in plan.groups)
    yield from ("};", "", "static const ws_site sites[] = {")
    for site in printing.sites:
        where = f"{site.span.source.name}:{site.span.line}:{site.span.column}" if site.span else ""
        yield f'    {{{string(where)}, {string(site.message)}, "{site.types}"}},'
    yield from ("};", "")
    variables = ", ".join([*(string(name) for name, _ in plan.variables), "NULL"])
    yield f"static const char *const variables[] = {{{variables}}};"
    kinds = "".join(e.type.letter for e in plan.ends)
    tables = f'groups, titles, {len(plan.groups)}, sites, root, variables, "{kinds}"'
    yield f"const ws_program ws_printed = {{{tables}, UINT64_C({identity:#x})}};"


def _title(g: Group, output: bool) -> str:
    buffers = ", ".join(string(b.name) for b in g.buffers)
    types = "".join("p" if b.pairs else b.type.member for b in g.buffers)
    return f'{{{string(g.tensor)}, {string(g.tag)}, (const char *[]){{{buffers}}}, "{types}", {constant(output)}}}'
