"""A process that computes jobs: `python -m wingspan.editing.worker PARENT BYTES MODULE…`, started by `workers`.

It reads jobs from standard input, and writes what came of them to standard output: JSON after its length in four bytes.
The modules are imported first; they may add jobs. It holds at most so many bytes, and ends with its parent.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from importlib import import_module
from typing import BinaryIO

from wingspan.base.orphans import end_with
from wingspan.editing.jobs import perform


def serve(jobs: BinaryIO, results: BinaryIO) -> None:
    """Compute jobs until there are no more."""
    while len(head := jobs.read(4)) == 4:
        name, arguments = json.loads(jobs.read(int.from_bytes(head)))
        made = json.dumps(perform(name, arguments)).encode()
        results.write(len(made).to_bytes(4) + made)
        results.flush()


def main(parent: str, memory: str, *modules: str) -> None:
    """Serve on the standard streams; anything that is printed goes to standard error."""
    end_with(int(parent))
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for name in modules:
        import_module(name)
    serve(sys.stdin.buffer, results)


if __name__ == "__main__":
    main(*sys.argv[1:])
