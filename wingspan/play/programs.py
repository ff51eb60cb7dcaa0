"""The programs that the playground offers: examples, the quiz, and those of the lessons."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypedDict

from wingspan.views.quiz import plain_text, quizzes

EXAMPLES = (
    "sum", "sum_atomic", "dependent", "histogram", "stencil", "spadd", "hadamard", "short_circuit", "spgemm_gustavson",
    "spgemm_outer",
)  # fmt: skip
LESSONS = (
    "1-two-threads", "2-step-by-step", "3-towers", "4-hidden-races", "5-without-running", "6-printed-test", "7-threads",
)  # fmt: skip
"""The lessons whose programs need no further files."""
BLOCK = re.compile(r"```wingspan (\S+\.ws)\n(.*?)```\n*((?:>[^\n]*\n)*)", re.DOTALL)
"""A program of a lesson, and the questions below it."""
BEGIN = re.compile(r"# ([^\n]*)\n\n(.*?)\n\n", re.DOTALL)
"""The title of a lesson, and its first paragraph."""
SHIPPED = (
    "examples/quiz.md", *(f"examples/{name}.ws" for name in EXAMPLES), *(f"docs/lessons/{name}.md" for name in LESSONS)
)  # fmt: skip
"""The files that `offered_programs` reads."""


class OfferedProgram(TypedDict):
    """A program to choose."""

    group: str
    name: str
    text: str
    about: str
    """the text to show beside it"""
    answer: str
    """the answer to its question, to be shown when it is asked for; or empty"""


def offered_programs(read: Callable[[str], str]) -> list[OfferedProgram]:
    """All of them. `read` gives the text of a file by its path in the repository."""
    return [*_examples(read), *_lessons(read), *_quiz(read)]


def _examples(read: Callable[[str], str]) -> Iterator[OfferedProgram]:
    for name in EXAMPLES:
        text = read(f"examples/{name}.ws")
        yield {"group": "Examples", "name": f"{name}.ws", "text": text, "about": "", "answer": ""}


def _lessons(read: Callable[[str], str]) -> Iterator[OfferedProgram]:
    for number, name in enumerate(LESSONS, start=1):
        page = read(f"docs/lessons/{name}.md")
        begin = BEGIN.match(page)
        assert begin is not None, name
        for file, text, asked in BLOCK.findall(page):
            parts = (f"Lesson {begin[1]}.", begin[2], re.sub(r"^> ?", "", asked, flags=re.M))
            about = plain_text(" ".join(" ".join(parts).replace("**", "").split()))
            yield {"group": f"Lesson {number}", "name": file, "text": text, "about": about, "answer": ""}


def _quiz(read: Callable[[str], str]) -> Iterator[OfferedProgram]:
    for each in quizzes(read("examples/quiz.md")):
        answer = f"{each.verdict}: {plain_text(' '.join(each.answer.split()))}"
        about = "What can go wrong here? Answer the question in the first line, then explore."
        yield {"group": "Quiz", "name": f"quiz_{each.name}.ws", "text": each.program, "about": about, "answer": answer}
