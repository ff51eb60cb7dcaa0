"""The decorator `dataclass` of this package, whose classes compile a method when it is first called.

`dataclasses` writes the text of each method, and compiles it where the class is defined: half a millisecond a class. A
command on a small program defines 200 of them, and uses few of their methods. The texts are the same here, so the
methods are as fast; but fields go by numbers in them, so classes of one shape share a text, which is compiled once, and
whose names are replaced then. `dataclasses.fields`, `replace` and so on accept the classes, and `dataclasses` itself
subclasses.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field
from functools import cache, cached_property
from reprlib import recursive_repr
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """As `dataclasses.dataclass`, with the options eq, frozen, repr, slots and unsafe_hash. InitVar is unknown.

        TypeError for other options.
        """
        return _process(cls, **options) if cls else lambda cls: _process(cls, **options)


class Deferred:
    """A method of a class that is compiled when it is first looked up, and takes the place of this object then."""

    def __init__(self, cls: type, name: str, frozen: bool) -> None:
        self.cls, self.name, self.frozen = cls, name, frozen

    @cached_property
    def method(self) -> Callable[..., Any]:
        """The method itself."""
        fields = {f"_{k}": f for k, f in enumerate(dataclasses.fields(self.cls))}
        parameters, body, scope = _WRITERS[self.name](self.cls, fields, self.frozen)
        text = f"def {self.name}({', '.join(['self', *parameters])}):\n " + "\n ".join(body or ["pass"])
        exec(_compile(text), scope)
        method = self._with_names(scope[self.name], {number: f.name for number, f in fields.items()})
        if self.name == "__init__":
            method.__annotations__ = {f.name: f.type for f in fields.values() if f.init} | {"return": None}
        return recursive_repr()(method) if self.name == "__repr__" else method

    def _with_names(self, numbered: FunctionType, names: dict[str, str]) -> FunctionType:
        """A function whose fields go by their names."""
        code, name = numbered.__code__, f"{self.cls.__qualname__}.{self.name}"
        renamed = code.replace(
            co_filename=f"<{self.name} of {self.cls.__qualname__}>",
            co_qualname=name,
            co_varnames=tuple([names.get(each, each) for each in code.co_varnames]),
            co_names=tuple([names.get(each, each) for each in code.co_names]),
            co_consts=tuple([names.get(each, each) for each in code.co_consts]),
        )
        method = FunctionType(renamed, numbered.__globals__, self.name, numbered.__defaults__)
        method.__kwdefaults__ = {names[each]: value for each, value in (numbered.__kwdefaults__ or {}).items()}
        method.__qualname__, method.__module__ = name, self.cls.__module__
        return method

    def __get__(self, instance: Any, owner: type) -> Any:
        if self.cls.__dict__[self.name] is self:
            setattr(self.cls, self.name, self.method)
        return self.method if instance is None else self.method.__get__(instance, owner)


@cache
def _compile(text: str) -> CodeType:
    return compile(text, "<dataclass>", "exec")


# -------------------------------------------------------------------------------------------------- texts of methods

_Fields = dict[str, Field[Any]]
"""The fields by their numbers."""
_Text = tuple[list[str], list[str], dict[str, Any]]
"""The parameters after `self`, the lines of the body, and the names that both use."""


class _Absent:
    """The default of a parameter whose field has a factory."""

    def __repr__(self) -> str:
        return "<factory>"


_ABSENT = _Absent()


def _write_init(cls: type, fields: _Fields, frozen: bool) -> _Text:
    parameters: list[str] = []
    by_name, body = ["*"], []
    scope: dict[str, Any] = {"_absent": _ABSENT, "_set": object.__setattr__}
    for n, f in fields.items():
        value, default = n, ""
        if f.default is not MISSING and (f.init or "__slots__" in cls.__dict__):
            scope[f"_default{n}"] = f.default
            default = f"=_default{n}"
            value = n if f.init else f"_default{n}"
        elif f.default_factory is not MISSING:
            scope[f"_factory{n}"] = f.default_factory
            default = "=_absent"
            value = f"_factory{n}()" + f" if {n} is _absent else {n}" * f.init
        elif not f.init:
            continue
        if f.init:
            (by_name if f.kw_only else parameters).append(n + default)
        body.append(f"_set(self, {n!r}, {value})" if frozen else f"self.{n} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    return parameters + by_name * (len(by_name) > 1), body, scope


def _write_eq(cls: type, fields: _Fields, frozen: bool) -> _Text:
    compared = [n for n, f in fields.items() if f.compare]
    mine, others = (_tuple_of(whose, compared) for whose in ("self", "other"))
    body = [f"if other.__class__ is self.__class__: return {mine} == {others}", "return NotImplemented"]
    return ["other"], body, {}


def _write_hash(cls: type, fields: _Fields, frozen: bool) -> _Text:
    hashed = [n for n, f in fields.items() if (f.compare if f.hash is None else f.hash)]
    return [], [f"return hash({_tuple_of('self', hashed)})"], {}


def _write_repr(cls: type, fields: _Fields, frozen: bool) -> _Text:
    shown = ", ".join(f"{f.name}={{self.{f.name}!r}}" for f in fields.values() if f.repr)
    return [], [f"return self.__class__.__qualname__ + f'({shown})'"], {}


def _tuple_of(whose: str, names: list[str]) -> str:
    return "(" + "".join(f"{whose}.{name}, " for name in names) + ")"


_WRITERS = {"__init__": _write_init, "__repr__": _write_repr, "__eq__": _write_eq, "__hash__": _write_hash}


# ----------------------------------------------------------------------------------------------------------- classes


def _process(
    cls: Any,
    *,
    eq: bool = True,
    frozen: bool = False,
    repr: bool = True,
    slots: bool = False,
    unsafe_hash: bool = False,
) -> Any:
    """The class with its fields and deferred methods. One with slots is a new class."""
    if frozen and slots:
        return dataclasses.dataclass(eq=eq, frozen=True, repr=repr, slots=True, unsafe_hash=unsafe_hash)(cls)
    own = {*cls.__dict__}
    if frozen:
        _add_fields(cls)
        _forbid_assignments(cls)
    else:
        cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    hashable = unsafe_hash or (eq and frozen)
    wanted = {"__init__": True, "__repr__": repr, "__eq__": eq, "__hash__": hashable}
    for name in [name for name, asked in wanted.items() if asked and name not in own]:
        setattr(cls, name, Deferred(cls, name, frozen))
    if eq and not hashable and "__hash__" not in own:
        cls.__hash__ = None
    return cls


def _add_fields(cls: Any) -> None:
    """Collect the fields of a frozen class.

    `dataclasses` would compile methods that forbid assignments, so it gets a class that has only these fields.
    """
    own = inspect.get_annotations(cls)
    defaults = {name: cls.__dict__[name] for name in own if name in cls.__dict__}
    body = {"__annotations__": own, "__module__": cls.__module__, "__doc__": "only fields", **defaults}
    bare: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(type(cls.__name__, (), body))
    for name in defaults:
        if name in bare.__dict__:
            setattr(cls, name, bare.__dict__[name])
        else:
            delattr(cls, name)
    inherited: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= base.__dict__.get("__dataclass_fields__", {})
    cls.__dataclass_fields__ = inherited | bare.__dataclass_fields__
    cls.__dataclass_params__ = bare.__dataclass_params__
    cls.__dataclass_params__.frozen = True
    if "__match_args__" not in cls.__dict__:
        names = tuple(f.name for f in dataclasses.fields(cls) if f.init and not f.kw_only)
        cls.__match_args__ = names  # type: ignore[misc]


def _forbid_assignments(cls: Any) -> None:
    """Have assignments to fields, and to all attributes of instances of the very class, raise FrozenInstanceError."""
    names = frozenset(f.name for f in dataclasses.fields(cls))

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__
