"""`wingspan play` on the command line: what it begins with, and what it refuses in one line."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from urllib.request import Request, urlopen

import pytest

from proofs_tests.places import EXAMPLES
from wingspan.base.errors import InputError
from wingspan.play.sharing import decode_program, encode_program
from wingspan.program import LONGEST


def test_the_page_is_served_to_who_knows_the_address_until_ctrl_c(tmp_path) -> None:
    pytest.importorskip("uvicorn", reason="pip install 'wingspan[play]'")
    path = tmp_path / "mine.ws"
    path.write_text("x = 1\n")
    words = [sys.executable, "-m", "wingspan", "play", str(path), "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        address, until = process.stdout.readline().strip(), process.stdout.readline().strip()
        with urlopen(f"{address}start") as reply:
            assert json.load(reply)["start"] == {"name": "mine.ws", "text": "x = 1\n"}
        host = address[: address.index("/", 8)]
        body = json.dumps({"text": "x = 2\n", "before": "x = 1\n"}).encode()
        with urlopen(Request(f"{address}save", body, {"Origin": host})) as reply:
            assert json.load(reply) == {"result": None}
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)
    assert (process.returncode, until, *rest) == (0, "served until Ctrl-C", "", "")
    assert path.read_text() == "x = 2\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no_such.ws"], "no_such.ws"),
        (["http://127.0.0.1:1/#program=!!!"], "this address holds no program"),
        (["latin.ws"], "not UTF-8 text"),
        (["empty.ws", "extra"], "unexpected extra argument"),
    ],
)
def test_what_is_no_program_is_refused(wingspan, files, words: list[str], message: str) -> None:
    pytest.importorskip("uvicorn", reason="pip install 'wingspan[play]'")
    done = wingspan("play", *words)
    assert done.status == 2 and message in done.err and "Traceback" not in done.err


def test_a_port_that_is_taken_is_refused(wingspan) -> None:
    pytest.importorskip("uvicorn", reason="pip install 'wingspan[play]'")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = wingspan("play", "--no-browser", "--port", str(other.getsockname()[1]))
    assert done.status == 2 and "in use" in done.err


def test_without_its_libraries_it_says_what_to_install(wingspan, monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "wingspan.play.server", raising=False)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    monkeypatch.setitem(sys.modules, "starlette", None)
    done = wingspan("play")
    assert done.status == 2 and "pip install 'wingspan[play]'" in done.err


@pytest.mark.parametrize("text", ["", "x = 1", "# é 𝔻 \U0001f600\n", (EXAMPLES / "spgemm_gustavson.ws").read_text()])
def test_an_address_holds_a_program(text: str) -> None:
    assert decode_program(f"http://127.0.0.1:1234/token/{encode_program(text)}") == text


def test_an_address_that_would_be_a_long_text_is_refused_before_it_is_one() -> None:
    with pytest.raises(InputError, match="holds no program"):
        decode_program(encode_program("x" * (LONGEST + 1)))


@pytest.mark.parametrize("address", ["", "#program", "#program=", "#program=eJwrUA", "#other=eJwr"])
def test_an_address_that_is_cut_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="holds no program"):
        decode_program(address)
