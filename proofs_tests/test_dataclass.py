"""The package's `dataclass` makes what `dataclasses` makes, and compiles a method when it is first used."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import threading
from collections.abc import Callable
from dataclasses import KW_ONLY, FrozenInstanceError, field
from functools import partial
from typing import Any, ClassVar

import pytest

from wingspan.base.dataclass import dataclass as deferring

Decorator = Callable[..., Any]
OPTIONS: list[dict[str, bool]] = [
    {}, {"frozen": True}, {"eq": False}, {"repr": False}, {"slots": True}, {"slots": True, "unsafe_hash": True},
    {"frozen": True, "eq": False}, {"frozen": True, "repr": False}, {"frozen": True, "slots": True},
]  # fmt: skip


def define(decorator: Decorator, options: dict[str, bool]) -> tuple[type[Any], type[Any]]:
    """A class with fields of all sorts, and a subclass that defines one of them anew."""

    @decorator(**options)
    class Base:
        a: int
        hidden: int = field(default=0, repr=False)
        aside: str = field(default="x", compare=False)
        shared: ClassVar[int] = 7

    @decorator(**options)
    class Derived(Base):
        hidden: int = 5
        many: list[int] = field(default_factory=list, hash=False)
        fixed: int = field(default=3, init=False)
        own: dict[str, int] = field(default_factory=dict, init=False, compare=False)
        _: KW_ONLY
        named: int
        also: int = 2

        def __post_init__(self) -> None:
            self.many.append(self.a)

    return Base, Derived


def outcome(act: Callable[[], Any]) -> Any:
    """The result, or the type and the message of the error."""
    try:
        return act()
    except Exception as error:
        return type(error), str(error)


def describe(decorator: Decorator, options: dict[str, bool]) -> list[Any]:
    """The answers of the two classes and of their instances."""
    base, derived = define(decorator, options)
    found: list[Any] = []
    for cls, make in ((base, lambda: base(1, aside="y")), (derived, lambda: derived(1, 2, named=4))):
        one, two = make(), make()
        other = dataclasses.replace(one, hidden=9)
        found += [str(inspect.signature(cls)), cls.__match_args__, [(f.name, f.type) for f in dataclasses.fields(cls)]]
        found += [one == two, one == other, one != 1, cls.__hash__ is None, dataclasses.asdict(one), one.shared]
        if options.get("repr", True):
            found.append(repr(one))
        if options.get("eq", True):
            found.append(outcome(partial(hash, one)))
        if "slots" not in options:
            found += [outcome(partial(setattr, one, "unheard_of", 5)), vars(one)]
        found += [outcome(partial(setattr, one, "a", 5)), outcome(partial(delattr, one, "hidden"))]
    found += [
        outcome(derived),
        outcome(lambda: derived(1, 2, 3)),
        outcome(lambda: derived(1)),
        outcome(lambda: base(b=1)),
    ]
    found += [derived(1, named=2).many is not derived(1, named=2).many, base(1) == derived(1, named=1)]
    return found


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")
def test_it_makes_what_dataclasses_makes(options: dict[str, bool]) -> None:
    assert describe(deferring, options) == describe(dataclasses.dataclass, options)


def test_an_option_that_it_does_not_have_is_an_error() -> None:
    with pytest.raises(TypeError, match="order"):

        @deferring(order=True)
        class Ordered:
            a: int


def test_methods_of_the_class_s_own_are_kept() -> None:
    @deferring(frozen=True)
    class Own:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return "own"

    assert (Own(1) == 3, hash(Own(1)), repr(Own(1))) == (True, 5, "own")


@pytest.mark.parametrize("frozen", [True, False])
def test_either_decorator_accepts_subclasses_of_the_other_s_classes(frozen: bool) -> None:
    both: tuple[Any, Any] = (deferring, dataclasses.dataclass)
    for outer, inner in (both, both[::-1]):

        @outer(frozen=frozen)
        class Base:
            a: int

        @inner(frozen=frozen)
        class Derived(Base):
            b: int = 2

        made: Any = Derived
        assert (made(1), repr(made(1, 3))[-17:]) == (made(1, 2), "Derived(a=1, b=3)")
        error = (FrozenInstanceError, "cannot assign to field 'a'")
        assert outcome(partial(setattr, made(1), "a", 2)) == (error if frozen else None)


def test_an_instance_inside_of_itself_is_printed_once() -> None:
    @deferring
    class Ring:
        inside: list[Any]

    ring = Ring([])
    ring.inside.append(ring)
    assert repr(ring).endswith("Ring(inside=[...])")


@deferring(frozen=True)
class Sent:
    """A class that another process finds by its name."""

    a: int
    b: str = "b"


def test_instances_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Sent(1))) == Sent(1)


def test_defining_a_class_compiles_no_method() -> None:
    """Each method becomes a function when it is first called; the others wait."""

    @deferring(frozen=True)
    class Waiting:
        a: int

    methods = ("__init__", "__repr__", "__eq__", "__hash__")
    assert not any(inspect.isfunction(vars(Waiting)[name]) for name in methods)
    Waiting(1)
    assert [name for name in methods if inspect.isfunction(vars(Waiting)[name])] == ["__init__"]


def test_threads_may_make_the_first_instances_together() -> None:
    @deferring(frozen=True)
    class Shared:
        a: int

    barrier = threading.Barrier(8)
    found: list[tuple[int, Shared, int]] = []

    def make(number: int) -> None:
        barrier.wait()
        found.append((number, Shared(number), hash(Shared(number))))

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((number, made.a, code) for number, made, code in found) == [(i, i, hash((i,))) for i in range(8)]


def test_classes_of_one_shape_keep_their_own_names_and_defaults() -> None:
    """The compiled text of a method is shared."""

    @deferring(frozen=True)
    class First:
        a: int
        b: int = 1

    @deferring(frozen=True)
    class Second:
        x: int
        y: str = "y"

    first, second = First(a=5), Second(x=5)
    assert (vars(first), vars(second)) == ({"a": 5, "b": 1}, {"x": 5, "y": "y"})
    assert first == First(5) and second == Second(5, "y") != Second(5, "z")
    both: tuple[tuple[Any, str], ...] = ((First, "a"), (Second, "x"))
    for make, name in both:
        with pytest.raises(TypeError, match=rf"{make.__name__}.__init__\(\) missing 1 required .* '{name}'"):
            make()
