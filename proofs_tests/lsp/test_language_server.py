"""The language server as editors meet it: a client with their capabilities talks to `wingspan lsp` over its streams."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import wingspan
from proofs_tests.editing.test_fixes_as_edits import RACE

pytest.importorskip("pygls", reason="pip install 'wingspan[lsp]'")
clients = pytest.importorskip("pytest_lsp", reason="pip install 'wingspan[dev]'")
from lsprotocol import types  # noqa: E402

VS_CODE, NEOVIM = "visual-studio-code", "neovim"
Body = Callable[[Any], Awaitable[Any]]


@pytest.fixture(scope="module")
def session() -> Iterator[Callable[..., Any]]:
    """Runs a body with a client, as an editor that has a text open, `client.uri`; its result.

    There is one server for all tests with an editor, as for all texts of a user.
    """
    started: dict[str, Any] = {}

    async def start(editor: str) -> Any:
        client = clients.make_test_lsp_client()
        await client.start_io(sys.executable, "-m", "wingspan", "lsp")
        capabilities = clients.client_capabilities(editor)
        await client.initialize_session(types.InitializeParams(capabilities=capabilities))
        return client

    async def run(body: Body, text: str, editor: str) -> Any:
        client = started[editor] = started.get(editor) or await start(editor)
        client.uri = Path(f"/tmp/{next(numbers)}/program.ws").as_uri()
        opened = types.TextDocumentItem(client.uri, "wingspan", 1, text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(opened))
        return await asyncio.wait_for(body(client), 60)

    numbers = count()
    with asyncio.Runner() as runner:
        yield lambda body, text=RACE, editor=VS_CODE: runner.run(run(body, text, editor))
        for client in started.values():
            runner.run(client.shutdown_session())


async def diagnostics(client: Any) -> list[Any]:
    """The next that the server publishes of the text."""
    while (published := await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)).uri != client.uri:
        pass
    return list(published.diagnostics)


async def change(client: Any, version: int, text: str) -> None:
    document = types.VersionedTextDocumentIdentifier(version, client.uri)
    whole = types.TextDocumentContentChangeWholeDocument(text)
    client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))


async def actions(client: Any, line: int) -> list[Any]:
    at = types.Range(types.Position(line, 0), types.Position(line, 0))
    context = types.CodeActionContext(diagnostics=[])
    params = types.CodeActionParams(types.TextDocumentIdentifier(client.uri), at, context)
    return list(await client.text_document_code_action_async(params))


def after(text: str, edits: list[types.TextEdit]) -> str:
    """The text after edits, in UTF-16 as the protocol counts by default; written for this test alone."""
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True):
        start, end = edit.range.start, edit.range.end
        first, last = (lines[min(k, len(lines) - 1)].encode("utf-16-le") for k in (start.line, end.line))
        head, tail = first[: 2 * start.character], last[2 * end.character :] if end.line < len(lines) else b""
        lines[start.line : end.line + 1] = f"{head.decode('utf-16-le')}{edit.new_text}{tail.decode('utf-16-le')}".split(
            "\n"
        )
    return "\n".join(lines)


@pytest.mark.parametrize("editor", [VS_CODE, NEOVIM])
def test_a_race_is_shown_and_its_first_fix_makes_the_program_safe(session, editor: str) -> None:
    async def body(client: Any) -> None:
        (problem,) = await diagnostics(client)
        assert problem.range == types.Range(types.Position(5, 4), types.Position(5, 7))
        assert problem.code == "level-dependence" and "both update s" in problem.message
        assert problem.related_information[0].location.range.start.line == 4
        fixes = await actions(client, 5)
        assert [each.title for each in fixes][:2] == ["s = Tensor(Atomic(0))", "s = Tensor(Mutex(Element(0)))"]
        assert [each.is_preferred for each in fixes][:2] == [True, False]
        fixed = after(RACE, fixes[0].edit.changes[client.uri])
        assert fixed == RACE.replace("s = Tensor(Element(0))", "s = Tensor(Atomic(0))")
        await change(client, 2, fixed)
        while await diagnostics(client):
            pass
        assert wingspan.check(wingspan.parse(fixed)).verdict == "safe"

    session(body, editor=editor)


def test_typing_replaces_the_diagnostics(session) -> None:
    """Changes while the first text is looked at are not lost, and what stands at last is what is shown."""

    async def body(client: Any) -> None:
        for version, text in enumerate(["for", "x =", "x = 1\n", "s[] += x"], start=2):
            await change(client, version, text)
        while not (found := await diagnostics(client)) or "s is updated" not in found[0].message:
            pass
        await change(client, 9, "x = 1")
        while await diagnostics(client):
            pass

    session(body)


def test_positions_are_counted_in_utf_16_where_the_editor_does(session) -> None:
    text = '# 𝔻𝔻\nA = Tensor(Dense(Element(0.0)), "𝔻𝔻.npy"); s[] += 1\n'

    async def body(client: Any) -> Any:
        return next(each for each in await diagnostics(client) if "s is updated" in each.message)

    found = session(body, text)
    line = text.splitlines()[1]
    assert found.range.start.character == len(line[: line.index("s[]")].encode("utf-16-le")) // 2


def test_hover_outline_completion_and_formatting(session) -> None:
    async def body(client: Any) -> None:
        document = types.TextDocumentIdentifier(client.uri)
        hover = await client.text_document_hover_async(types.HoverParams(document, types.Position(5, 4)))
        assert "| 1 | Element | {sibling, cousin} |" in hover.contents.value
        symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
        assert [each.name for each in symbols] == ["v", "s", "i"]
        assert symbols[2].range.end.line == 5 and symbols[2].detail == "i = parallel(_)"
        words = await client.text_document_completion_async(types.CompletionParams(document, types.Position(2, 13)))
        assert words[0].label == "Element" and words[0].documentation
        options = types.FormattingOptions(tab_size=4, insert_spaces=True)
        ask = types.DocumentFormattingParams(document, options)
        assert not await client.text_document_formatting_async(ask)  # an empty list: it is formatted
        await change(client, 2, "# a\nfor i=1:3 # b\n  c[i]+=1\nend")
        (edit,) = await client.text_document_formatting_async(ask)
        assert edit.new_text == "# a\nfor i = 1:3  # b\n    c[i] += 1\nend\n"
        await change(client, 3, "for i = 1:3; c[i] += 1; end # why")
        (edit,) = await client.text_document_formatting_async(ask)
        assert edit.new_text == "for i = 1:3\n    c[i] += 1\nend  # why\n"
        await change(client, 4, "for for")
        assert await client.text_document_formatting_async(ask) is None
        assert client.messages[-1].message.startswith("not formatted: ")

    session(body)


def test_the_lenses_have_the_verdict_and_explore(session) -> None:
    async def body(client: Any) -> None:
        await actions(client, 0)  # which wait until the text was looked at
        ask = types.CodeLensParams(types.TextDocumentIdentifier(client.uri))
        check, explore = [each.command for each in await client.text_document_code_lens_async(ask)]
        assert (check.title, explore.title) == ("check: unsafe: 1 finding in s", "explore")
        for command, expected in ((check, "s = Tensor(Atomic(0))"), (explore, "race  program.ws: 1 race, 3 results")):
            said = await client.workspace_execute_command_async(
                types.ExecuteCommandParams(command.command, arguments=command.arguments)
            )
            assert expected in said and client.messages[-1].message == said
        (page,) = client.shown_documents
        text = Path(page.uri.removeprefix("file://")).read_text("utf-8")
        assert page.external and re.search(r"<title>program.ws: wingspan</title>", text)

    session(body)


def test_a_text_that_is_closed_has_no_problems_and_questions_about_others_are_no_crash(session) -> None:
    async def body(client: Any) -> None:
        await diagnostics(client)
        client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(client.uri)))
        while await diagnostics(client):
            pass
        ask = types.CodeLensParams(types.TextDocumentIdentifier("untitled:other"))
        assert len(await client.text_document_code_lens_async(ask)) == 2

    session(body)


def test_without_its_libraries_the_verb_says_what_to_install(command, monkeypatch) -> None:
    for name in [*sys.modules]:
        if name == "wingspan.lsp" or name.startswith("pygls."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls", None)
    done = command("lsp")
    assert done.status == 2 and "pip install 'wingspan[lsp]'" in done.err
