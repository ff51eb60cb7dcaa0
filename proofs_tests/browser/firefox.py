"""Firefox as Debian has it, told what to do by Marionette: playwright only drives a Firefox of its own.

https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html
"""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

PREFERENCES = {
    "marionette.port": 0,
    "ui.systemUsesDarkTheme": 1,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.normandy.enabled": False,
    "network.captive-portal-service.enabled": False,
}
READY = "Listening on port "
"""The line that Firefox prints once it listens, up to the address."""


class Firefox:
    """A window without a screen."""

    def __init__(self, path: str) -> None:
        self.profile = tempfile.TemporaryDirectory(prefix="wingspan-firefox-")
        lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items())
        Path(self.profile.name, "user.js").write_text("".join(lines))
        words = [path, "--headless", "--marionette", "--no-remote", "--profile", self.profile.name]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        port = next(line.partition(READY)[2] for line in self.process.stdout if READY in line)
        self.wire = socket.create_connection(("127.0.0.1", int(port)))
        self._received()
        self.said = 0
        self.tell("WebDriver:NewSession", acceptInsecureCerts=False)

    def __enter__(self) -> Firefox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.wire.close()
        self.process.terminate()
        self.process.communicate()
        self.profile.cleanup()

    def tell(self, command: str, **parameters: Any) -> Any:
        """Do something; what came of it. RuntimeError with what Firefox says is wrong."""
        self.said += 1
        text = json.dumps([0, self.said, command, parameters])
        self.wire.sendall(f"{len(text.encode())}:{text}".encode())
        _, _, error, result = self._received()
        if error is not None:
            raise RuntimeError(f"{command}: {error}")
        return result

    def evaluate(self, script: str, *values: Any) -> Any:
        """The value that a function body returns in the page."""
        return self.tell("WebDriver:ExecuteScript", script=script, args=list(values), newSandbox=False, sandbox=None)[
            "value"
        ]

    def _received(self) -> Any:
        size = b""
        while not size.endswith(b":"):
            size += self.wire.recv(1)
        text = b""
        while len(text) < int(size[:-1]):
            text += self.wire.recv(65536)
        return json.loads(text)
