"""The server of the playground serves its own page alone, and ends what its windows no longer wait for."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.editing.test_fixes_as_edits import RACE
from proofs_tests.places import ROOT
from wingspan.editing.diagnosis import diagnose

pytest.importorskip("starlette", reason="pip install 'wingspan[play]'")
httpx = pytest.importorskip("httpx", reason="pip install 'wingspan[dev]'")
from wingspan.play import server  # noqa: E402
from wingspan.play.programs import offered_programs  # noqa: E402
from wingspan.play.server import Playground, make_app  # noqa: E402

HOST = "127.0.0.1:8000"
OWN = {"origin": f"http://{HOST}"}


class Client:
    """Sends requests to the application, one after the other."""

    def __init__(self, runner: asyncio.Runner, client: Any) -> None:
        self.runner, self.client = runner, client

    def get(self, path: str, **more: Any) -> Any:
        return self.runner.run(self.client.get(path, **more))

    def post(self, path: str, **more: Any) -> Any:
        return self.runner.run(self.client.post(path, **more))


@pytest.fixture
def playground(tmp_path: Path) -> Playground:
    file = tmp_path / "mine.ws"
    file.write_text(RACE)
    return Playground("token", frozenset({HOST}), {"name": "mine.ws", "text": RACE}, [], file)


@pytest.fixture
def client(playground: Playground) -> Iterator[Client]:
    with asyncio.Runner() as runner:
        transport = httpx.ASGITransport(app=make_app(playground))
        asked = httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}", timeout=60)
        yield Client(runner, asked)
        runner.run(playground.close())


@pytest.mark.parametrize("path", ["/", "/token", "/other/", "/start", "/static/play.js", "/other/start", "/token/none"])
def test_without_the_token_there_is_nothing(client: Client, path: str) -> None:
    assert client.get(path).status_code in (307, 404)
    assert "wingspan" not in client.get(path).text


@pytest.mark.parametrize("host", ["evil.example:8000", "127.0.0.1", "127.0.0.1:8001", ""])
def test_other_names_of_this_machine_are_refused(client: Client, host: str) -> None:
    assert client.get("/token/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:8001", f"https://{HOST}"])
@pytest.mark.parametrize("path", ["/token/job/diagnose", "/token/save"])
def test_requests_of_other_pages_are_refused(client: Client, playground: Playground, path: str, origin: Any) -> None:
    body = {"text": "x = 1", "before": RACE, "name": "a.ws", "fixes": False}
    assert client.post(path, json=body, headers={"origin": origin} if origin else {}).status_code == 403
    assert playground.file is not None and playground.file.read_text() == RACE


def test_the_page_may_load_its_own_files_alone(client: Client) -> None:
    page = client.get("/token/")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';") and "unsafe" not in policy
    assert page.headers["referrer-policy"] == "no-referrer" and page.headers["cache-control"] == "no-store"
    for path in (ROOT / "wingspan" / "play" / "static").iterdir():
        assert client.get(f"/token/static/{path.name}").content == path.read_bytes()
        assert "http://" not in path.read_text() and "https://" not in path.read_text()


@pytest.mark.parametrize("name", ["..%2fserver.py", "server.py", "%2e%2e", "play.html%00", "x.css"])
def test_no_other_file_is_served(client: Client, name: str) -> None:
    assert client.get(f"/token/static/{name}").status_code == 404


def test_an_exploration_has_a_page_of_its_own_that_can_be_downloaded(client: Client) -> None:
    found = client.post("/token/job/explore", json={"text": RACE, "name": 'a"\n.ws'}, headers=OWN).json()["result"]
    page = client.get(f"/token/page/{found['page']}")
    assert (
        page.text.startswith("<!doctype html>") and page.headers["content-security-policy"] == "frame-ancestors 'self'"
    )
    saved = client.get(f"/token/page/{found['page']}?download")
    assert saved.headers["content-disposition"] == 'attachment; filename="a__.html"' and saved.content == page.content
    assert client.get("/token/page/none").status_code == 404


def test_old_pages_are_dropped(playground: Playground) -> None:
    numbers = [playground.keep_page("a.ws", str(k)) for k in range(server.PAGES + 5)]
    assert [number in playground.pages for number in numbers] == [False] * 5 + [True] * server.PAGES


def test_a_file_that_was_changed_meanwhile_is_not_overwritten(client: Client, playground: Playground) -> None:
    assert playground.file is not None
    assert client.post("/token/save", json={"text": "x = 1", "before": RACE}, headers=OWN).json() == {"result": None}
    assert playground.file.read_text() == "x = 1"
    refused = client.post("/token/save", json={"text": "x = 2", "before": RACE}, headers=OWN).json()
    assert "changed by another program" in refused["error"] and playground.file.read_text() == "x = 1"
    playground.file = None
    assert (
        "no file to save to" in client.post("/token/save", json={"text": "", "before": ""}, headers=OWN).json()["error"]
    )


def test_what_is_no_request_of_the_page_is_an_error_and_no_crash(client: Client) -> None:
    for body in (b"", b"[]", b"{", b"{}", b'{"text": 1, "fixes": 2}', b"\xff", b'{"x": 1}'):
        reply = client.post("/token/job/diagnose", content=body, headers=OWN)
        assert reply.status_code in (200, 400) and "error" in reply.json(), body


def test_a_text_that_is_too_long_is_refused(client: Client) -> None:
    assert client.post("/token/job/diagnose", content=b"x" * 2**22, headers=OWN).status_code == 403
    assert client.post("/token/job/none", json={}, headers=OWN).status_code == 404


def test_a_job_beyond_its_time_is_an_error_and_others_go_on(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = "s = Tensor(Element(0))\ns .= 0\nfor i = 1:1000000000000\n  s[] += 1\nend\n"
    monkeypatch.setitem(server.LONG, "explore", 0.5)
    found = client.post("/token/job/explore", json={"text": endless}, headers=OWN).json()
    assert "no end within 0.5 s" in found["error"]
    asked = {"text": RACE, "name": "a.ws", "fixes": False}
    assert client.post("/token/job/diagnose", json=asked, headers=OWN).json()["result"]["verdict"] == "unsafe"


def test_a_window_that_is_closed_ends_its_job(client: Client, playground: Playground) -> None:
    """The next job does not wait for it, and its process is gone."""

    async def body() -> int:
        endless = {"text": "s = Tensor(Element(0))\ns .= 0\nfor i = 1:1000000000000\n  s[] += 1\nend\n"}
        request = asyncio.ensure_future(closing(make_app(playground), "/token/job/explore", endless, playground))
        await request
        return playground.long.running

    assert client.runner.run(body()) == 0


async def closing(app: Any, path: str, body: dict[str, Any], playground: Playground) -> None:
    """Send a request by ASGI, and disconnect once its job is computed."""
    messages = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop(0)
        while not playground.long.running:
            await asyncio.sleep(0)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        assert message["type"] != "http.response.start" or message["status"] == 499

    headers = [(b"host", HOST.encode()), (b"origin", OWN["origin"].encode())]
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": headers, "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", 8000),
    }  # fmt: skip
    await app(scope, receive, send)


def test_examples_quiz_and_lessons_are_offered_and_are_programs() -> None:
    offered = offered_programs(lambda path: (ROOT / path).read_text("utf-8"))
    groups = {each["group"] for each in offered}
    assert {"Examples", "Quiz", "Lesson 1", "Lesson 7"} <= groups and len(offered) > 30
    assert all((each["answer"] != "") == (each["group"] == "Quiz") for each in offered)
    assert not any(re.search(r"\]\(\S+\.md|`|\*\*", each["about"]) for each in offered)
    about = next(each["about"] for each in offered if each["group"] == "Lesson 1")
    assert about.startswith("Lesson 1. Two threads, one cell. Two threads add up a vector.")
    assert about.endswith("Question 1. Which values can s[1] have in the end? Write down all of them.")
    for each in offered:
        assert diagnose(each["text"], each["name"], budget=0)["verdict"], each["name"]
