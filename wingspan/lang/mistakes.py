"""Messages about a text that the grammar refuses: the offence, its place, and a correction."""

from __future__ import annotations

import re
import unicodedata

from lark import Token
from lark.exceptions import UnexpectedInput

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import ParseError, Source, Span, abridge
from wingspan.lang.keywords import KEYWORDS
from wingspan.lang.operators import OPERATORS, WORDS, WRAPPING

_NAMED = (
    f"<<{op.word or op.symbol}>>="
    for op in OPERATORS.values()
    if op.update and op.algebra.commutative and op.symbol not in WRAPPING
)
NAMED = f"the named ones are {' '.join(_NAMED)} <<choose(0)>>=, or declare a function"
"""The remedy for what is no reduction."""

BUILT_IN = " and ".join(", ".join(WORDS).rsplit(", ", 1))
NOT_COMPUTED = frozenset(["sqrt", "cbrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "atan", "tanh"])
"""Functions of other languages that no expression of this one computes."""
WRITTEN = {
    "sign": "ifelse(x > 0, 1, ifelse(x < 0, -1, x))", "floor": "x ÷ 1", "ceil": "-(-x ÷ 1)", "mod": "x % y",
    "div": "x ÷ y", "square": "x * x", "isnan": "x != x",
}  # fmt: skip
"""The functions of other languages, as a program writes them."""


PROTOCOLS = ("walk", "gallop", "follow", "laminate", "extrude")
"""The ways in which Finch.jl may be asked to step through a level."""
VIEWS = {
    "swizzle": "swizzle(A, 2, 1)[i, j], or A[j, i]",
    "permissive": "permissive(A, true)[i], or A[~i]",
    "offset": "offset(A, 1)[i], or A[i + 1]",
}
"""The views of tensors that have a normal form, and how they are written."""
CONVERSIONS = ("Int", "Int64", "Int32", "UInt", "UInt64", "UInt8", "Float64", "Float32", "Bool")
"""Types of Julia, which convert numbers there."""
INSTEAD = {
    **{
        word: (f"there are no conversions such as {word}(…)", "leave it out; formats may have widths")
        for word in CONVERSIONS
    },
    "something": ("something takes what may be nothing, and a last value", "something(A[i], nothing, 0)"),
    **{word: (f"{word}(A, …) stands before its subscripts", fix) for word, fix in VIEWS.items()},
    **{word: (f"{word} stands around a whole subscript", f"A[{word}(i)]; it has no effect") for word in PROTOCOLS},
}  # fmt: skip
"""Headline and fix for words of Finch.jl that are no functions here."""


@dataclass(frozen=True)
class Hint:
    """A common slip: what the line says before the refused place, what it says from there on, and the message.

    Groups of `before` may stand in the message and in the remedy.
    """

    before: str
    rest: str
    message: str
    fix: str


HINTS = (
    Hint(
        r"@finch\w*\s+(mode|algebra)\s*=.*$", "",
        "this option is not written like that", "mode = :fast, or algebra = MyAlgebra(); neither has an effect",
    ),
    Hint(
        r"@finch\w*\s+[A-Z]\w*\s*(\([^()]*\)?)?\s*$", r"[()]",
        "this option is not written like that",
        "MyAlgebra() (…), which has no effect: declare what holds of a function, function f(x, y; associative) = …",
    ),
    Hint(
        "", r"@finch_kernel\b",
        "a program is no function", "write the statements of the kernel alone; its arguments are inputs and parameters",
    ),
    Hint(r"\w$", r"!\(", "no function changes its arguments", "update a tensor: T[i] = e"),
    Hint(
        r"\bFinch\.(\w+)\([^()]*\)\s*$", "",
        r"\1(A, …) stands before its subscripts", r"Finch.\1(A, …)[i]",
    ),
    Hint(
        r"\bFinch$", r"\.",
        "of Finch's module there are views alone",
        "Finch.permissive(A, true)[i] is A[~i], and Finch.offset(A, 1)[i] is A[i + 1]",
    ),
    Hint("", r"@", "there is no such macro", "write the statements alone; @finch and @finch_code may stand before one"),
    Hint("", r"\$", "`$` inserts what Julia computes", "write what stands in its place when Julia has run"),
    Hint(
        r"[\[,]\s*\([^()]*:[^()]*\)\s*$", r"[\],]",
        "a window stands before an index", "A[(2:4)(i)], or A[i + 1] in a loop over 1:3",
    ),
    Hint(r"\bfor\s+\w+\s*$", r"\w", "a loop binds its index by `=` or `in`", "for i = 1:n"),
    Hint(
        r"\bfor\b.*,\s*(\w+\s*)?$", "",
        "after this comma, a loop binds another index", "for j in _, i in _",
    ),
    Hint(r"\blet\b[^=]*$", r"(#|;|$)", "`let` binds a variable", "let x = A[i]"),
    Hint(r"(^|[\s;])for\b", r"do\b", "a loop's header has no `do`", "remove it"),
    Hint(r"(^|[\s;])(for|if)\b", r":\s*(#|$)", "a header does not end in `:`", "remove it"),
    Hint(
        r"\bfor\s+[^\W\d]\w*\s*(?:=|∈|\bin\b)\s*(?!parallel\b)([^\W\d]\w*)\s*\($", r"_\s*[,)]",
        r"there is no loop over \1(…)", "parallel(_), or _ for a serial loop",
    ),
    Hint(r"(^|[\s;])while\s*$", "", "there is no `while`", "loop over a range, or call the program again from Python"),
    Hint("", r"\?", "`?` is not an operator", "write ifelse(e, a, b)"),
    Hint(r"/$", r"/(?!=)", "`//` is not an operator", "write ÷, which rounds down"),
    Hint("", r"(and|or)\b", "`and` and `or` are not operators", "write && for and, || for or"),
    Hint(r"\bnot\s+$", "", "`not` is not an operator", "write ! for not"),
    Hint("", r"\^(?!=)", "there is no power operator", "multiply: x * x"),
    Hint(r"\bcoalesce\s*(\(\s*)?$", "", "coalesce takes one value or more", "coalesce(A[~(i + 1)], 0)"),
    Hint(r"\*$", r"\*", "there is no power operator", "multiply: x * x"),
    Hint(
        "", r"([/÷%^]|\*\*|//)=",
        "this is no reduction", "write A[i] = A[i] / e; there are += -= *= +%= -%= *%= <<min>>= <<max>>= &= |=",
    ),
    Hint("", r"<<", "this is no reduction", NAMED),
    Hint(r"\belseif\s*$", r"(#|$)", "`elseif` needs a condition", "elseif x > 0, or else"),
    Hint(r"\d$", r"[^\W\d]", "a number and a name stand together", "put an operator between them: 2 * i"),
    Hint(r"\d$", r"\.", "digits must follow the point", "write 0.0 for 0."),
    Hint("", r"\.\d", "a digit must stand before the point", "write 0.5 for .5"),
    Hint(r"\bdynamic_schedule\(\s*$", r"\)", "a dynamic schedule needs its chunk size", "dynamic_schedule(2)"),
    Hint(r"\bdynamic_schedule\s*$", "", "a dynamic schedule needs its chunk size", "dynamic_schedule(2)"),
    Hint(r"\bdynamic_schedule\([^()]*$", ",", "a dynamic schedule takes its chunk size only", "dynamic_schedule(2)"),
    Hint(r"\bstatic_schedule\s*$", "", "a schedule is written with parentheses", "static_schedule()"),
    Hint(r"\bstatic_schedule\s*\([^()]*$", "", "a static schedule takes no arguments", "static_schedule()"),
    Hint(
        r"\b(greedy|julia)_schedule\b(\s*\([^()]*)?$", "",
        "this schedule takes its chunk size", r"\1_schedule(4), or dynamic_schedule(4)",
    ),
    Hint(
        r"\bcpu\s*(\([^()]*)?$", r"[,)]|\w|:|$",
        "a device takes a number of threads", "cpu(2), cpu(:t, 2) or cpu(:t, 2, parent)",
    ),
    Hint(r"\b((ShortCircuit)?Scalar)\s*(\([^()]*)?$", "", "a scalar takes one number or boolean", r"\1(0.0)"),
    Hint(r"\bTensor\s*(\(\s*)?$", r"[,)]|$", "a tensor begins with its format", "Tensor(Dense(Element(0.0)), 3)"),
    Hint(r"\b(freeze|thaw)\s*(\([^()]*)?$", "", r"\1 takes one tensor", r"\1(C)"),
    *(
        Hint(rf"\b{word}\s*(\(\s*)?$", r"\)|$", f"{word} takes {op.arguments}", op.example)
        for word, op in WORDS.items()
    ),
    Hint(r"\bparallel\s*(\(\s*)?$", r"[,)]|$", "a parallel loop needs its range", "parallel(1:n), parallel(_, dev)"),
    Hint(
        r"\bfor\s+(\w+)\s*=\s*parallel\(\s*\w+\s*$", r"=",
        "the index stands before `parallel` already", r"for \1 = parallel(…), with the range alone in parentheses",
    ),
    Hint(
        r"\bparallel\([^()]*$", r"[,)]|\w",
        "a parallel loop takes a range, a device and a schedule", "parallel(_, dev, static_schedule())",
    ),
    Hint(r"\bfor\s+\w+\s*=[^:]*$", r"(#|;|$)", "a range has two ends", "1:n, or _ for the whole axis"),
    Hint(
        r",\s*$", r"\[\s*\[\s*\[",
        "data are a vector or a matrix", "[[1, 2], [3, 4]]; a tensor with more axes comes from a file, or from Python",
    ),
    Hint(r"\bTensor\(\s*\w+\s*$", r"[,)]", "a tensor begins with its format", "Tensor(Dense(Element(0.0)), 3)"),
    Hint(
        r"(^|;)\s*\w+(\[[^=]*\])?\s*$",
        r"([-+*/÷%<>|&]|==|!=)[^;]*",
        "an expression alone is no statement",
        "bind it: x = …",
    ),
    Hint(r"\breturn\s*$", r"(#|$)", "`return` names the tensors to give back", "return C"),
    Hint("", r'"[^"]*$', "this text is never closed", 'add the missing "'),
    Hint("", r"'", "text stands in double quotes", '"file.mtx"'),
    Hint(
        r"(^|;)\s*function\b[^=]*$", "",
        "a function has a name, parameters and an expression", "function f(x, y) = x + y",
    ),
    Hint(r"[(\[][^)\]]*$", ";", "`;` cannot stand here", "inside brackets, arguments are separated by `,`"),
    Hint("", ";", "the statement ends too early", "finish it before the `;`"),
    Hint(r"(^|;)\s*[^\W\d]\w*\s*$", r"(#|$)", "a name alone is no statement", "bind it, x = 1, or declare it, T .= 0"),
    Hint(
        "", r"(#|$)",
        "the line ends too early",
        "finish it; it goes on in the next line after an operator, a comma or an open bracket",
    ),
)  # fmt: skip


CONTINUED = re.compile(r".*(?:[-+*/÷%<>=|&⊻!~,])(?=\s*(#|$))")
"""A line that goes on in the next one."""
BLANK = re.compile(r"\s*(#.*)?")
NEXT = re.compile(
    r"[^\s=<>!]{0,8}=(?!=)|(?:for|let|if|elseif|else|end|begin|return|skip|freeze|thaw|assert|function)\b"
)
"""Signs that a line is another statement."""


def explain(source: Source, error: UnexpectedInput) -> ParseError:
    """The message for what the grammar refuses."""
    token = getattr(error, "token", None)
    line, column = error.line, error.column
    if isinstance(token, Token):
        line, column = token.line or 1, token.column or 1
    text = source.line(line)
    before, rest = text[: column - 1], text[column - 1 :].lstrip(" \t")
    above = next((k for k in range(line - 1, 0, -1) if not BLANK.fullmatch(source.line(k))), 0)
    if above and NEXT.match(rest) and (unfinished := CONTINUED.match(source.line(above))):
        line, column = above, unfinished.end() + 1
        before, rest = unfinished[0], ""
    found = re.match(r"\w+|[^\w\s]|", rest)
    width = len(found[0]) if found else 1
    begins = "FOR" in (getattr(error, "expected", None) or getattr(error, "allowed", None) or ())
    message, fix = describe(before, rest, token.type if isinstance(token, Token) else "", begins)
    return ParseError(message, Span(source, line, column, line, column + max(1, width)), fix=fix)


def describe(before: str, rest: str, kind: str, begins: bool) -> tuple[str, str]:
    """The headline and the fix.

    Mistakes are recognized by the line before and after the rejected place, the kind of the rejected token, and whether
    a statement could have begun there.
    """
    word = re.match(r"\w+", rest)
    if word and word[0] in KEYWORDS and re.search(r"(^|;)\s*function\b[^=]*$", before):
        return f"`{word[0]}` is a word of the language, and names no function or parameter", "choose another name"
    for hint in HINTS:
        found = re.search(hint.before, before)
        if found and re.match(hint.rest, rest):
            return found.expand(hint.message), found.expand(hint.fix)
    if begins and rest[0].isprintable() and not (word and word[0] in KEYWORDS):
        return (
            f"no statement begins with `{rest[0]}`",
            "x = 1, A[i] += 1, T .= 0, for, if, freeze(T), thaw(T), return T",
        )
    name = re.search(r"([^\W\d]\w*)\s*$", before)
    if rest.startswith("(") and name and name[1] not in KEYWORDS:
        if name[1][0].isupper():
            return f"a format such as {name[1]}(…) stands inside Tensor(…)", f"C = Tensor({name[1]}(…))"
        return (
            f"there is no function {name[1]}",
            f"the functions are {BUILT_IN}; A[i] accesses a tensor",
        )
    if kind == "MATRIX":
        return "brackets cannot stand here", "A[i] accesses a tensor by name; data stand in Tensor(FORMAT, [1, 2, 3])"
    if kind == "SYMBOL":
        return "a device's name cannot stand here", "write it in cpu(:t, 2)"
    if kind == "STRING":
        return "text cannot stand here", 'a file is read by Tensor(FORMAT, "file.mtx")'
    if word and word[0] in KEYWORDS:
        return f"`{word[0]}` cannot stand here: it is a reserved word", "choose another name, or begin a new line"
    if word:
        return (
            f"`{abridge(word[0])}` cannot stand here",
            "put an operator between two expressions, a newline or `;` between two statements",
        )
    if rest[0].isascii() and rest[0].isprintable():
        return f"`{rest[0]}` cannot stand here", "remove it, or write what is missing before it"
    return (
        f"the character U+{ord(rest[0]):04X} {unicodedata.name(rest[0], '')}".rstrip() + " cannot stand here",
        "remove it",
    )
