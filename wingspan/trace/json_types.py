"""The trace document as types; `document.py` makes documents of this type. Each docstring is a part of its schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from wingspan.base.json_types import Count, Operation, Task, meaning, one_of
from wingspan.base.schemas import json_schema


def row(*items: dict[str, Any]) -> Meta:
    """Of a list with these elements."""
    return Meta(min_length=len(items), max_length=len(items), extra_json_schema={"prefixItems": [*items]})


InStates = Annotated[Count, meaning("a place in `states`")]
InEdges = Annotated[Count, meaning("a place in `edges`")]
InSteps = Annotated[Count, meaning("a place in `steps`")]
InCells = Annotated[Count, meaning("a place in `cells`")]
InStores = Annotated[Count, meaning("a place in `stores`")]
InTrees = Annotated[Count, meaning("a place in `trees`")]
InReads = Annotated[Count, meaning("a place in `reads`")]
InMoments = Annotated[Count, meaning("a place in `moments`")]
InLines = Annotated[Count, meaning("a place in `lines`")]
InResults = Annotated[Count, meaning("a place in `results`")]
Span = Annotated[
    list[Count], Meta(min_length=4, max_length=4, description="line, column, end line, end column (excluded)")
]
Texts = dict[str, str]
TEXT = {"type": "string"}
ValueCell = Annotated[int, Meta(ge=0, description="a place in `cells`: the one that holds the value")]


class Program(TypedDict):
    """the source that spans refer to"""

    name: str
    text: list[str]


class Level(TypedDict):
    """a level of a tensor"""

    number: Count
    name: str


class Tensor(TypedDict):
    """a tensor with its levels, root first; the leaf is level 1"""

    name: str
    format: str
    shape: list[Count]
    levels: list[Level]


class Rule(TypedDict):
    """a rule: as drawn, and each case for LaTeX; `figure`: whether the paper's figure has it"""

    name: str
    figure: bool
    unicode: str
    latex: Annotated[list[str], Meta(min_length=1)]
    note: str


class Result(TypedDict):
    """the results of runs"""

    values: dict[str, Any]
    texts: Annotated[Texts, meaning("the same, each as text: there may be integers that no double holds")]
    interleaving: str
    interleavings: Annotated[str | None, meaning("how many end so, as digits: there may be more than a double holds")]
    probability: float | None
    text: Annotated[str, meaning("those that differ between results, in words")]
    how: Annotated[str, meaning("whether it is the sequential result, in words; empty if there is none")]
    about: Annotated[str, meaning("the same, and how often it comes about")]
    serial: Annotated[bool | None, meaning("whether it is the sequential result")]


class Finding(TypedDict):
    """a race, fault or deadlock, or a property that is violated or reached; a shortest interleaving that shows it, and
    the states that it passes through
    """

    kind: Annotated[str, one_of("race", "fault", "deadlock", "property")]
    text: str
    interleaving: str
    before: Annotated[
        str,
        meaning(
            "the interleaving after which the race or the fault is about to happen, or is the deadlock or the property"
        ),
    ]
    states: list[InStates]


class Cell(TypedDict):
    """a cell of a tensor, or a variable that tasks share, which has a name only"""

    name: str
    tensor: NotRequired[str]
    level: NotRequired[Count]
    level_name: NotRequired[str]
    buffer: NotRequired[str]
    copy: NotRequired[str]
    offset: NotRequired[int]


class Store(TypedDict):
    """the names that a task binds, with what they stand for"""

    task: Task
    names: Texts


class Redex(TypedDict):
    """the next redex of a task"""

    task: Task
    span: Span


class Configuration(TypedDict):
    """⟨s, t, σ⟩ of the root task, and what each task reduces next"""

    lines: list[InLines]
    redexes: list[Redex]


Before = Annotated[
    list[InMoments], meaning("the moment before each invisible step, or before the first of them if there are too many")
]


class Waiting(TypedDict):
    """a task that waits for a lock"""

    task: Task
    at: Span | None
    text: str


class Read(TypedDict):
    """a value that a task has read for a statement that it has not ended, on the first way here"""

    task: Task
    cell: InCells
    value: str
    over: Annotated[Task | None, meaning("the task that has written the cell since")]


class End(TypedDict):
    """the end of runs: their results, or the locks that they wait for"""

    kind: Annotated[str, one_of("finished", "deadlock")]
    text: str


class Standing(TypedDict):
    """a task, and the part of the program that it is about to reduce"""

    task: Task
    at: Span | None


class Contents(TypedDict):
    """memory, names and configuration"""

    cells: Annotated[
        list[Annotated[list[Any], row({"type": "integer", "minimum": 0}, TEXT)]],
        meaning("the heap: places in `cells`, with their values; others hold zero"),
    ]
    trees: Annotated[list[InTrees | None], meaning("a fibertree for each of `tensors`; null before it is declared")]
    stores: Annotated[list[InStores], meaning("σ of each task under way")]
    configuration: Configuration
    watched: NotRequired[Annotated[list[str], meaning("the value of each of `watches` here, or why it has none")]]


class Moment(Contents):
    """a state before an invisible step"""

    standing: list[Standing]


class State(Contents):
    """a state in which every next step can be observed by other tasks"""

    enabled: Annotated[list[InEdges], meaning("what can happen next, a step for each task that can")]
    races: Annotated[
        list[Annotated[list[InEdges], Meta(min_length=2, max_length=2)]], meaning("pairs of next steps that race")
    ]
    waiting: list[Waiting]
    reads: list[Read]
    result: Annotated[InResults | None, meaning("the result of runs that end here")]
    end: Annotated[End | None, meaning("null if runs go on")]


class Lost(TypedDict):
    """an update that is overwritten: what `writer` wrote, with a value computed from the older `value`"""

    cell: InCells
    writer: Task
    value: str


class Edge(TypedDict):
    """a step that other tasks can observe, and the invisible ones after it"""

    source: InStates
    key: NotRequired[Annotated[str, meaning("the key that takes it, where tasks have longer names than the digits")]]
    target: Annotated[InStates | None, meaning("null after a fault, or if the state is left out")]
    step: InSteps
    then: list[InSteps]
    before: NotRequired[Before]
    fault: str | None
    raced: Annotated[list[InEdges], meaning("the steps of other tasks that it races with")]
    lost: Annotated[Lost | None, meaning("the update that it overwrites, on the first way here")]


class ShownRead(TypedDict):
    """a value read for a statement that has not ended; `old` if another task has written the cell since"""

    task: Task
    cell: InCells
    text: str
    old: bool


class View(TypedDict):
    """all that depends on the path to a state: what tasks have read on it, and what their next steps overwrite"""

    state: InStates
    reads: list[InReads]
    next: Annotated[
        dict[str, Annotated[list[Any], row({"type": ["integer", "null"], "minimum": 0}, {"type": ["array", "null"]})]],
        meaning(
            "for a place in the state's `enabled`, if that step leads to another view than the first of "
            "its target or loses an update: the view, and the update in words, a number standing for that of the last "
            "step taken which is at this place in `steps`"
        ),
    ]


class Access(TypedDict):
    """an access of a step; taking or giving back a lock has no value"""

    operation: Operation
    writes: Annotated[bool, meaning("whether the operation changes the cell")]
    cell: InCells
    value: str | None


class Step(TypedDict):
    """one step of one task by a rule"""

    task: Task
    rule: str
    at: Span | None
    indices: Annotated[Texts, meaning("the loop indices in force, outermost first")]
    text: Annotated[str, meaning("its accesses, in words; empty if it has none")]
    place: Annotated[str, meaning("its line and the indices of the loops as written, in words")]
    values: Annotated[
        list[str], Meta(min_length=1, description="those that it reads or writes; the empty text if there are none")
    ]
    accesses: list[Access]
    done: Annotated[bool, meaning("whether it is all of the rule, or one access of several")]
    letters: NotRequired[Annotated[Texts, meaning("what the letters of the rule as drawn stand for")]]
    premises: Annotated[
        list[Annotated[list[Any], row(TEXT, TEXT, {"type": "boolean"})]],
        meaning(
            "each premise as drawn, filled in, and whether it has been shown; the last one may take "
            "accesses that are still to be made"
        ),
    ]
    conclusion: Annotated[str, meaning("filled in; empty after a fault")]


class Child(TypedDict):
    """the indices first to last lead to a fiber, to a value, or to nothing stored (null)"""

    first: Count
    last: Count
    fiber: NotRequired[Fiber]
    value: NotRequired[str | None]
    cell: NotRequired[ValueCell]


class Fiber(TypedDict):
    """a fiber, or a tensor without axes, which has a value"""

    level: Count
    position: Count
    children: list[Child]
    value: NotRequired[str]
    cell: NotRequired[ValueCell]
    updating: NotRequired[
        Annotated[
            bool,
            meaning("of a root: tasks are updating the tensor; this is what could be read if all loops ended here"),
        ]
    ]
    unreadable: NotRequired[
        Annotated[
            str, meaning("of a root: the invariant of a level that does not hold, or the fault that freezing ends with")
        ]
    ]
    more: NotRequired[Annotated[bool, Meta(extra_json_schema={"const": True})]]


class Document(TypedDict):
    """The states of a small program under the rules, the steps between them with their premises, and what was found.
    Tables hold what repeats; their rows are counted from 0. Lines and columns of the program are counted from 1, those
    of configurations from 0.
    """

    format: Literal["wingspan-trace"]
    version: Literal[1]
    program: Program
    watches: NotRequired[Annotated[list[str], meaning("expressions that are evaluated in each state")]]
    tensors: list[Tensor]
    rules: Annotated[list[Rule], meaning("all rules")]
    tasks: Annotated[list[Task], meaning("all that step")]
    begin: Annotated[list[InSteps], meaning("the invisible steps before state 0")]
    before: NotRequired[Before]
    states: Annotated[list[State], Meta(min_length=1)]
    edges: list[Edge]
    views: Annotated[
        list[View],
        Meta(
            min_length=1,
            description="the first view of each state, in their order, and those of paths on which tasks have read "
            "something else",
        ),
    ]
    complete: Annotated[
        bool, meaning("whether every state is there; if not, those that edges without a target lead to are left out")
    ]
    verdict: Annotated[str, meaning("as of wingspan explore")]
    interleavings: Annotated[str | None, meaning("how many there are, as digits; null if they were not counted")]
    results: list[Result]
    findings: list[Finding]
    lines: Annotated[list[str], meaning("lines of configurations")]
    cells: list[Cell]
    steps: list[Step]
    reads: Annotated[list[ShownRead], meaning("reads in words")]
    stores: list[Store]
    trees: Annotated[list[Fiber], meaning("fibertrees")]
    moments: NotRequired[list[Moment]]


SCHEMA = json_schema("wingspan trace document, version 1", Document)
"""The JSON Schema (2020-12) of the document."""
