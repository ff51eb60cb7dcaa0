"""The JSON of results as types; `json.py` makes documents of these types, `schemas.py` their JSON Schemas.

Each docstring is the description in a schema. Members are added without a new number of the schema; the number changes
when one is removed or means something else.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from wingspan.base.json_types import Count, Operation, Place, Positive, Task, Value, meaning, one_of
from wingspan.explorer.verdict import VERDICTS

Values = Annotated[
    Value | dict[str, Value],
    meaning(
        "a tensor as nested lists, row by row, or the value of a variable; of a tensor with more than ten "
        'million elements those that are not fill, by their subscripts: {"1, 2": 3}'
    ),
]
Outcome = Annotated[dict[str, Values], meaning("what a run computed, by the names of tensors and variables")]
Interleaving = Annotated[str, meaning("which task takes each visible step, as `wingspan replay` reads it")]
Dependences = list[Literal["node", "sibling", "cousin"]]
Texts = dict[str, str]
INCIDENTS = [{"$ref": "#/$defs/Fault"}, {"$ref": "#/$defs/Deadlock"}]
"""Either; msgspec makes no union of several TypedDicts."""


class Access(Place):
    """one side of a race"""

    task: Task
    rule: str
    operation: Operation
    position: Positive | None
    index: int | None


class Race(TypedDict):
    """two conflicting accesses that no order keeps apart; the interleaving ends with the two"""

    tensor: str
    level: Count | None
    level_name: str
    kind: Annotated[str, one_of("node", "sibling", "cousin", "")]
    cell: str
    first: Access
    second: Access
    interleaving: Interleaving


class Incident(Place):
    """an incident of a run, and the interleaving that leads there"""

    message: str
    interleaving: Interleaving


class Fault(Incident):
    """a step that the rules forbid"""

    topic: Annotated[str, one_of("fault", "assertion")]
    task: Task
    rule: str


class Waiting(Place):
    """a task that waits"""

    task: Task
    waits_for: str
    holder: Annotated[Task | None, meaning("null if no task will ever release it")]


class Deadlock(Incident):
    """tasks that wait forever"""

    waiting: list[Waiting]


class Result(TypedDict):
    """one distinct result"""

    values: Outcome
    interleavings: Count | None
    executions: Count
    probability: float | None
    interleaving: Interleaving


class Property(TypedDict):
    """the answer to a property"""

    kind: Annotated[str, one_of("always", "ends", "reach")]
    text: str
    answer: Annotated[str, one_of("holds", "violated", "reached", "unreached", "unknown", "undefined")]
    states: Annotated[Count | None, meaning("states, or of `ends` results, that violate or reach it")]
    interleavings: Count | None
    probability: float | None
    interleaving: Annotated[Interleaving | None, meaning("a shortest one to such a state or result")]
    values: Annotated[Outcome, meaning("what it reads there")]


class Omission(TypedDict):
    """a part that could not be computed"""

    what: str
    bound: str


class Coverage(TypedDict):
    """the rules that the steps between states apply"""

    fired: Annotated[dict[str, Count], meaning("by rule")]
    states: Count
    all: Annotated[bool, meaning("whether these are all states")]


class Explore(TypedDict):
    """the findings of `explore`"""

    verdict: Annotated[str, one_of(*VERDICTS, "incomplete")]
    complete: Annotated[bool, meaning("whether all interleavings are covered")]
    stopped_by: str | None
    strategy: str
    reason: str
    remark: str
    machine: Annotated[str, one_of("semantics", "native")]
    processes: Positive
    symmetry: bool
    told_apart: str
    left_out: list[Omission]
    executions: Count
    interleavings: Count | None
    states: Count
    steps: Count
    seconds: float
    outcomes: Count
    results: Annotated[list[Result], meaning("the most frequent first")]
    races: list[Race]
    faults: list[Fault]
    deadlocks: list[Deadlock]
    properties: list[Property]
    coverage: NotRequired[Coverage]


class Touch(TypedDict):
    """an access of a step"""

    tensor: str
    level: Count | None
    level_name: str
    buffer: str
    cell: str
    operation: Operation
    position: Count | None
    index: int | None
    value: Annotated[Value | None, meaning("of the cell after the step")]


class Lost(TypedDict):
    """an update that is lost"""

    cell: str
    writer: Task
    written: Positive
    read: Positive
    value: Value | None


class Action(Place):
    """a step"""

    task: Task
    rule: str
    indices: Annotated[
        dict[str, int | tuple[int, int]],
        meaning("of the loops, outermost first; a run of indices is its first and its last"),
    ]
    touches: list[Touch]
    visible: Annotated[bool, meaning("whether another task could observe it")]
    lost: Lost | None


class Able(TypedDict):
    """a task that could step"""

    task: Task
    rule: str


class Mismatch(Place):
    """the place at which a run left the requested interleaving"""

    step: Positive
    task: Task
    reason: str
    able: list[Able]
    followed: Interleaving
    left: Interleaving


class Replay(TypedDict):
    """one run, step by step"""

    steps: list[Action]
    mismatch: Mismatch | None
    end: Annotated[str, one_of("finished", "fault", "deadlock")]
    message: str | None
    incident: Annotated[Any, Meta(extra_json_schema={"anyOf": [*INCIDENTS, {"type": "null"}]})]
    values: Annotated[Outcome | None, meaning("null unless it finished")]


class Iteration(TypedDict):
    """an iteration of loops, and the task that runs it"""

    task: Task
    indices: Annotated[dict[str, int], meaning("by loop")]


class Witness(TypedDict):
    """two iterations that meet"""

    first: Iteration
    second: Iteration
    element: str
    certain: Annotated[bool, meaning("whether they meet whatever is loaded")]


class Finding(Place):
    """a possible fault at one level, between two accesses"""

    topic: Literal[
        "level-dependence", "gate", "claim", "order", "overlap", "deadlock", "variable", "order-dependence", "merge"
    ]
    loop: str | None
    device: str | None
    tensor: str
    access: str | None
    other: str | None
    level: Count | None
    level_name: str
    required: Dependences
    stability: Dependences
    missing: Dependences
    direction: Annotated[
        dict[str, Annotated[str, one_of("<", "=", ">", "*")]], meaning("of each loop around both, outermost first")
    ]
    other_line: Positive | None
    other_column: Positive | None
    reads: Annotated[
        list[bool], meaning("of each of the two accesses, whether it only reads what the other may update")
    ]
    reason: str
    witness: Witness | None


class Advice(TypedDict):
    """a change after which the test accepts the program"""

    change: str
    cost: Count
    program: str


class Proof(TypedDict):
    """the reason that a pair of accesses is safe"""

    loop: str | None
    tensor: str
    access: str | None
    other: str | None
    reason: str


class Partial(TypedDict):
    """a level of a tensor that is updated, which cannot hold every index: that no more is written is not checked"""

    tensor: str
    level: Annotated[int, Meta(ge=2)]
    level_name: str


class Check(TypedDict):
    """the verdict of the level dependence test"""

    verdict: Literal["safe", "order-dependent", "unsafe"]
    test: Literal["printed", "repaired", "exact"]
    findings: list[Finding]
    advice: Annotated[list[Advice], meaning("cheapest first")]
    advice_complete: bool
    proofs: list[Proof]
    partial: NotRequired[list[Partial]]
    symbols: Annotated[list[str], meaning("what is left open")]
    alike: Count


class Stored(TypedDict):
    """a stored tensor"""

    shape: list[Count]
    format: str
    nnz: Annotated[Count, meaning("the number of stored elements")]


class Tensor(Stored):
    """a tensor"""

    values: Annotated[Values | None, meaning("null if there are more than 256 elements")]


class Run(TypedDict):
    """the results of a run"""

    tensors: Annotated[dict[str, Tensor], meaning("by name")]
    variables: Annotated[dict[str, Value], meaning("by name")]
    engine: str
    reason: str
    seconds: float


class Ending(TypedDict):
    """a run"""

    engine: str
    fault: str | None
    defect: str | None
    output: Annotated[str, meaning("the last lines that the engine wrote, if its process ended or had to be ended")]
    seconds: float


class Has(TypedDict):
    """an engine's value there"""

    engine: str
    has: Value


class Difference(TypedDict):
    """the first place that differs"""

    place: str
    first: Has
    second: Has


class CrossExploration(TypedDict):
    """the exploration of a program by the rules and on the compiled plan"""

    states: Annotated[dict[str, Count], meaning("by machine")]
    stopped_by: Annotated[str | None, meaning("the bound that cut a search short; nothing is compared then")]


class Diff(TypedDict):
    """the comparison of engines"""

    agree: bool
    runs: list[Ending]
    left_out: Annotated[Texts, meaning("engines that cannot run the program, and why")]
    difference: Difference | None
    explored: CrossExploration | None


class Observed(TypedDict):
    """a way to end"""

    values: Outcome | None
    fault: str | None
    runs: Count
    predicted: bool


class Stress(TypedDict):
    """the ends of runs on threads"""

    runs: Count
    engine: str
    mode: str
    machine: str
    complete: bool
    surprises: Count
    observed: list[Observed]
    seconds: float


class SourceLine(TypedDict):
    """a line of the source of a kernel"""

    file: str
    line: Positive


class LogAccess(TypedDict):
    """an access in a log"""

    task: str
    line: Annotated[Positive, meaning("the line of the log")]
    operation: str
    source: Annotated[SourceLine | None, meaning("the statement, null if the log does not say")]


class LogRace(TypedDict):
    """a pair of statements of which accesses to a tensor are in no order"""

    cell: str
    first: LogAccess
    second: LogAccess
    cells: Annotated[list[str], meaning("all cells on which the two race")]
    predicted: Annotated[
        bool | None, meaning("whether exploring the program finds it; null without one, or if the search was cut short")
    ]
    outside: Annotated[bool, meaning("whether the tensor of the program has no such element")]


class Beyond(TypedDict):
    """a cell that its tensor in the program cannot have, and the extents that it has instead"""

    cell: str
    line: Positive
    extents: str


class Judge(TypedDict):
    """the races of a log"""

    accesses: Count
    tasks: Count
    races: list[LogRace]
    unseen: list[str]
    complete: bool | None
    examined: Annotated[Count, meaning("the number of accesses that were examined")]
    stopped_by: Annotated[
        Annotated[str, one_of("max-seconds", "max-memory", "interrupt", "signal")] | None,
        meaning("the bound or signal that ended the examination, null at the end of the log"),
    ]
    beyond: Annotated[list[Beyond], meaning("each cell once")]


class Lemma(TypedDict):
    """a group of questions with one claim"""

    name: str
    claim: str
    asked: Count
    proved: Count
    seconds: float
    failed: Annotated[list[str], meaning("the questions with a countermodel, or without an answer")]


class Refutation(TypedDict):
    """a program that the test accepts, and what exploring it finds"""

    format: str
    conflict: str
    program: str
    verdict: str
    interleavings: list[Interleaving]


class Prove(TypedDict):
    """the proof of what a test accepts"""

    test: Annotated[str, one_of("repaired", "printed")]
    holds: bool
    complete: Annotated[bool, meaning("whether all questions were asked")]
    remembered: Annotated[Count, meaning("the questions that were proved by an earlier run")]
    states: Count
    lemmas: list[Lemma]
    refutations: list[Refutation]
    undecided: Annotated[list[str], meaning("countermodels that no program shows")]


class Candidate(TypedDict):
    """a program that the test accepts; the serial one has no loops"""

    loops: list[str]
    schedule: str
    formats: list[str]
    work: float
    time: float
    expected: float
    seconds: list[float]
    program: str


class Rejected(TypedDict):
    """loops that are parallel in no candidate, and what the test finds without modifiers"""

    loops: list[str]
    schedule: str
    reasons: list[str]


class Parallelize(TypedDict):
    """the placements of parallel and modifiers that are safe"""

    threads: Positive
    devices: Annotated[list[Positive], Meta(min_length=1)]
    params: Annotated[dict[str, Any], meaning("what all candidates are safe for")]
    test: Annotated[str, one_of("repaired", "exact")]
    complete: bool
    engine: str | None
    open: list[str]
    candidates: list[Candidate]
    rejected: list[Rejected]


class Plan(TypedDict):
    """a plan"""

    plan: str


class Pass(TypedDict):
    """a pass"""

    name: str
    about: str
    statements: Count


class Passes(TypedDict):
    """the passes over a plan"""

    passes: list[Pass]


class EmitC(TypedDict):
    """the written files"""

    files: list[str]


class Fmt(TypedDict):
    """a program in canonical form"""

    program: str


class Kernel(TypedDict):
    """a compiled program"""

    program: str
    inputs: Annotated[Texts, meaning("the formats of the inputs, by name")]
    returns: list[str]
    params: Annotated[Texts, meaning("the parameters, by name")]
    engine: str


class Point(TypedDict):
    """a choice"""

    params: Annotated[Texts, meaning("those that vary")]
    fault: str | None
    result: Annotated[dict[str, Any] | None, meaning("by the schema of the verb")]


class Sweep(TypedDict):
    """the results of a verb for each choice of parameters"""

    verb: str
    points: list[Point]


class Demo(TypedDict):
    """the page of the first example"""

    file: str
    opened: bool


class Cache(TypedDict):
    """the compiled programs that are kept"""

    folder: str
    programs: Count
    bytes: Count
    deleted: bool


class Convert(Stored):
    """the tensor that was written"""

    file: str


class LevelSize(TypedDict):
    """a level"""

    level: Count
    name: str
    buffers: Annotated[dict[str, Count], meaning("bytes of each buffer")]


class Show(Stored):
    """a tensor in a file"""

    levels: list[LevelSize]
