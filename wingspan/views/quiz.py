"""The quiz: programs that are broken on purpose, each with a question, its verdict, an answer and a fix."""

from __future__ import annotations

import re
from collections import Counter
from textwrap import wrap

from wingspan.base.dataclass import dataclass

WIDTH = 80
VERDICTS = ("safe", "wrong", "order-dependent", "race", "deadlock", "fault")

_HEADING = re.compile(
    r"^### \[quiz_(\w+)\]\(.*?\): \[`([a-z-]+)`\].*?\n\n```diff\n(.*?)```\n\n(.*?)(?=\n##|\Z)", re.M | re.S
)
_MARKUP = re.compile(r"\[(?P<link>[^\]]*)\]\([^)]*\)|`(?P<code>[^`]+)`|\*(?P<emphasis>\S[^*]*)\*")
_WORD = re.compile(r"\w+|[^\w\s()\[\],.]+")


@dataclass(frozen=True)
class Quiz:
    """A program whose first line asks a question; what exploring it finds, why, and its lines with the fix marked."""

    name: str
    verdict: str
    diff: str
    answer: str

    @property
    def program(self) -> str:
        """The broken program."""
        return "".join(line[1:] for line in self.diff.splitlines(keepends=True) if not line.startswith("+"))

    @property
    def words_of_fix(self) -> frozenset[str]:
        """The words and operators that only the fixed program has, in lower case."""
        lines = self.diff.casefold().splitlines()
        fixed, broken = (Counter(_WORD.findall("\n".join(x[1:] for x in lines if x[:1] == mark))) for mark in "+-")
        return frozenset(fixed - broken)


def quizzes(page: str) -> list[Quiz]:
    """The quizzes of a page, in its order."""
    return [Quiz(*found) for found in _HEADING.findall(page)]


def question(quiz: Quiz, number: int, of: int) -> str:
    """The program with its question."""
    return f"{_bar(f'{number} of {of}: {quiz.name}')}\n{_program(quiz.program)}"


def sheet(quizzes: list[Quiz]) -> str:
    """The questions for a handout."""
    line = f"verdict ({', '.join(VERDICTS)}):"
    parts = (
        f"{question(quiz, number, len(quizzes))}\n\n{line}\nbecause:\n\n\n"
        for number, quiz in enumerate(quizzes, start=1)
    )
    return "\n".join(parts)


def answer(quiz: Quiz, report: str) -> str:
    """The findings of exploring the program, in short, the answer, and the fix."""
    return f"{brief(report)}\n\n{_answer(quiz)}"


def key(quizzes: list[tuple[Quiz, str]]) -> str:
    """The answers to a handout, with the headline of what exploring each program found."""
    parts = (
        f"{_bar(f'{number} of {len(quizzes)}: {quiz.name}')}\n{report.partition(chr(10))[0]}\n\n{_answer(quiz)}\n"
        for number, (quiz, report) in enumerate(quizzes, start=1)
    )
    return "\n".join(parts)


def brief(report: str) -> str:
    """Of a report on an exploration its headline, the first finding, the results, and one run.

    Without the commands that show more: the program is in no file.
    """
    headline, *parts = re.sub(r"^ +see +.*\n?", "", report, flags=re.M).split("\n\n")
    errors = [part for part in parts if part.startswith("error[")]
    others = [part for part in parts if part.startswith(("results:", "run "))]
    return "\n\n".join(part.rstrip() for part in (headline, *errors[:1], *others))


def _answer(quiz: Quiz) -> str:
    paragraphs = plain_text(quiz.answer).strip().split("\n\n")
    text = "\n\n".join("\n".join(wrap(" ".join(each.split()), WIDTH)) for each in paragraphs)
    return f"{text}\n\n{_program(quiz.diff)}"


def plain_text(markdown: str) -> str:
    """A text without the markup of its links, code and emphasis."""
    return _MARKUP.sub(lambda marked: marked[marked.lastgroup or 0], markdown)


def _program(text: str) -> str:
    """A program; comments, which may be long, in lines that fit."""
    lines = []
    for line in text.rstrip().splitlines():
        mark = re.match(r"[ +-]?# ", line)
        lines += wrap(line, WIDTH, subsequent_indent=mark[0], drop_whitespace=True) if mark else [line]
    return "\n".join(lines)


def _bar(title: str) -> str:
    return f"── {title} ".ljust(WIDTH, "─")
