"""The language server: what `editing` says of a text, in the terms of the Language Server Protocol 3.17.

https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError
from wingspan.editing.workers import Workers

PAUSE = 0.2
"""The seconds without a change after which a text is looked at."""
EXPLORING = 40.0
"""The seconds that a command may take."""
CHECK, EXPLORE = "wingspan.check", "wingspan.explore"
SEVERITIES = {"error": types.DiagnosticSeverity.Error, "note": types.DiagnosticSeverity.Information}
SYMBOLS = {
    "tensor": types.SymbolKind.Array,
    "device": types.SymbolKind.Object,
    "schedule": types.SymbolKind.Object,
    "function": types.SymbolKind.Function,
    "loop": types.SymbolKind.Namespace,
}
COMPLETIONS = {
    "format": types.CompletionItemKind.Class,
    "keyword": types.CompletionItemKind.Keyword,
    "function": types.CompletionItemKind.Function,
    "name": types.CompletionItemKind.Variable,
}


@dataclass
class OpenText:
    """The state of a text that an editor has open: the version that was looked at, and the facts on it."""

    version: int | None
    diagnosis: Mapping[str, Any]


class WingspanServer(LanguageServer):
    """The language server. Texts are looked at in processes that end at their bounds."""

    def __init__(self, version: str) -> None:
        super().__init__("wingspan", version)
        self.workers = Workers()
        self.texts: dict[str, OpenText] = {}
        self.looking: dict[str, asyncio.Task[None]] = {}

    async def ask(self, job: str, document: TextDocument, **more: Any) -> Any:
        """The result of a job on a text."""
        arguments = {"text": document.source, "name": Path(document.path).name, **more}
        if job != "format_text":
            arguments["folder"] = str(Path(document.path).parent)
        return await self.workers.run(job, arguments)

    def look(self, uri: str, pause: float = PAUSE) -> None:
        """Look at a text once it has not changed for a while."""
        if uri in self.looking:
            self.looking[uri].cancel()
        self.looking[uri] = asyncio.get_running_loop().create_task(self._look(uri, pause))

    async def _look(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        document = self.workspace.get_text_document(uri)
        version = document.version
        for fixes in (False, True):
            try:
                diagnosis = await self.ask("diagnose", document, fixes=fixes)
            except InputError as error:
                diagnosis = {"problems": [], "verdict": "", "summary": f"no verdict: {error.message}", "fixes": []}
            self.texts[uri] = OpenText(version, diagnosis)
            problems = [diagnostic(document, each) for each in diagnosis["problems"]]
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri=uri, diagnostics=problems, version=version)
            )
            if not diagnosis["verdict"]:
                break
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.code_lens is not None and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)

    async def diagnosis(self, uri: str) -> Mapping[str, Any] | None:
        """The facts on a text as it is now, once it was looked at."""
        if uri in self.looking:
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self.looking[uri])
        return self.texts[uri].diagnosis if uri in self.texts else None

    def forget(self, uri: str) -> None:
        """End what is computed about a text that was closed."""
        if uri in self.looking:
            self.looking.pop(uri).cancel()
        self.texts.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=[]))

    def say(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Show a message to the user."""
        self.window_show_message(types.ShowMessageParams(type=kind, message=text))


def position(document: TextDocument, line: int, column: int) -> types.Position:
    """A place, counted from 1 in characters, as the client counts."""
    at = types.Position(line - 1, column - 1)
    return at if line > len(document.lines) else document.position_codec.position_to_client_units(document.lines, at)


def range_of(document: TextDocument, span: Mapping[str, Any]) -> types.Range:
    """A piece of the text, as the client counts."""
    return types.Range(
        position(document, span["line"], span["column"]), position(document, span["end_line"], span["end_column"])
    )


def diagnostic(document: TextDocument, problem: Mapping[str, Any]) -> types.Diagnostic:
    """A problem as editors show it."""
    return types.Diagnostic(
        range=range_of(document, problem["range"]),
        message="\n".join(filter(None, (problem["message"], problem["details"]))),
        severity=SEVERITIES[problem["severity"]],
        code=problem["topic"],
        source="wingspan",
        related_information=[
            types.DiagnosticRelatedInformation(
                types.Location(document.uri, range_of(document, each["range"])), each["message"]
            )
            for each in problem["related"]
        ],
    )


def symbol(document: TextDocument, found: Mapping[str, Any]) -> types.DocumentSymbol:
    """A part of the outline."""
    return types.DocumentSymbol(
        name=found["name"],
        detail=found["detail"],
        kind=SYMBOLS[found["kind"]],
        range=range_of(document, found["whole"]),
        selection_range=range_of(document, found["range"]),
        children=[symbol(document, each) for each in found["children"]],
    )


def make_server(version: str) -> WingspanServer:
    """The server with its features."""
    server = WingspanServer(version)
    _add_diagnostics(server)
    _add_questions(server)
    _add_commands(server)
    return server


def _add_diagnostics(server: WingspanServer) -> None:
    """Mistakes and findings while the user types, and fixes as code actions."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def open_text(params: types.DidOpenTextDocumentParams) -> None:
        server.look(params.text_document.uri, 0)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def change_text(params: types.DidChangeTextDocumentParams) -> None:
        server.look(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def close_text(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)

    kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    async def list_fixes(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = server.workspace.get_text_document(params.text_document.uri)
        diagnosis = await server.diagnosis(document.uri)
        if diagnosis is None:
            return []
        safe = diagnosis["verdict"] == "safe"
        problems = [diagnostic(document, each) for each in diagnosis["problems"] if each["severity"] == "error"]
        actions = []
        for number, fix in enumerate(diagnosis["fixes"]):
            places = [range_of(document, edit) for edit in fix["edits"]]
            touched = [*places, *(each.range for each in problems)]
            if not any(_meet(params.range, each) for each in touched):
                continue
            edits = [types.TextEdit(at, edit["text"]) for at, edit in zip(places, fix["edits"], strict=True)]
            actions.append(
                types.CodeAction(
                    title=fix["title"]
                    if fix["lossless"]
                    else f"{fix['title']} (rewrites the program, without comments)",
                    kind=kinds[safe],
                    diagnostics=problems,
                    is_preferred=not safe and number == 0,
                    edit=types.WorkspaceEdit(changes={document.uri: edits}),
                )
            )
        return actions


def _meet(one: types.Range, other: types.Range) -> bool:
    """Whether two ranges share a line."""
    return one.start.line <= other.end.line and other.start.line <= one.end.line


def _add_questions(server: WingspanServer) -> None:
    """Hover, completion, outline and formatting."""

    def place(params: types.HoverParams | types.CompletionParams) -> tuple[TextDocument, dict[str, int]]:
        document = server.workspace.get_text_document(params.text_document.uri)
        at = document.position_codec.position_from_client_units(document.lines, params.position)
        return document, {"line": params.position.line + 1, "column": at.character + 1}

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        document, at = place(params)
        text = await server.ask("hover", document, **at)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["("]))
    async def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        document, at = place(params)
        found = await server.workers.run("complete", {"text": document.source, **at})
        return [
            types.CompletionItem(
                label=each["word"],
                kind=COMPLETIONS[each["kind"]],
                documentation=each["detail"] or None,
                insert_text=each["insert"],
                sort_text=f"{number:04}",
            )
            for number, each in enumerate(found)
        ]

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        document = server.workspace.get_text_document(params.text_document.uri)
        return [symbol(document, each) for each in await server.ask("outline", document)]

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    async def format_text(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        document = server.workspace.get_text_document(params.text_document.uri)
        try:
            text = await server.ask("format_text", document)
        except InputError as error:
            server.say(f"not formatted: {error.message}", types.MessageType.Warning)
            return None
        whole = types.Range(types.Position(0, 0), types.Position(len(document.lines), 0))
        return [types.TextEdit(whole, text)] if text != document.source else []


def _add_commands(server: WingspanServer) -> None:
    """The verdict, and the commands to check and to explore, above the first line."""

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def list_commands(params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
        diagnosis = server.texts[uri].diagnosis if uri in server.texts else {"summary": ""}
        check = f"check: {diagnosis['summary']}" if diagnosis["summary"] else "check"
        top = types.Range(types.Position(0, 0), types.Position(0, 0))
        return [
            types.CodeLens(top, types.Command(check, CHECK, arguments=[uri])),
            types.CodeLens(top, types.Command("explore", EXPLORE, arguments=[uri])),
        ]

    @server.command(CHECK)
    async def check(uri: str) -> str:
        document = server.workspace.get_text_document(uri)
        try:
            found = await server.ask("diagnose", document, fixes=True)
        except InputError as error:
            server.say(error.message, types.MessageType.Warning)
            return error.message
        messages = [found["summary"] or "no verdict: the program has mistakes"]
        messages += [f"{each['range']['line']}: {each['message']}" for each in found["problems"]]
        messages += [f"{found['advice']}:", *(fix["title"] for fix in found["fixes"])] if found["fixes"] else []
        server.say("\n".join(messages))
        return "\n".join(messages)

    @server.command(EXPLORE)
    async def explore(uri: str) -> str:
        document = server.workspace.get_text_document(uri)
        path = Path(document.path)
        window = server.client_capabilities.window
        shows = window is not None and window.show_document is not None and window.show_document.support
        arguments = {
            "text": document.source, "name": path.name, "folder": str(path.parent), "with_page": shows,
        }  # fmt: skip
        try:
            found = await server.workers.run("explore", arguments, EXPLORING)
        except InputError as error:
            server.say(error.message, types.MessageType.Warning)
            return error.message
        server.say(found["report"])
        if found["page"]:
            page = Path(tempfile.mkdtemp(prefix="wingspan-"), f"{path.stem}.html")
            page.write_text(found["page"], "utf-8")
            server.window_show_document(types.ShowDocumentParams(uri=page.as_uri(), external=True))
        return str(found["report"])
