"""The program of the process an isolated FMU runs in: lock yourself up, load it, answer.

Messages are lines of JSON on a socket. The first says what is to be loaded; each other one asks for something by name.
An answer has `values`, or says what is `wrong`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any


def main() -> None:
    """Arguments: the number of the socket, then where packages are."""
    sys.path[:0] = sys.argv[2:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    read, write = open(int(sys.argv[1]), "rb", closefd=False), open(int(sys.argv[1]), "wb", closefd=False)  # noqa: SIM115

    import fmpy.fmi2
    import fmpy.fmi3  # noqa: F401 (before the lock)

    from kompono.errors import KomponoError
    from kompono.foreign.code import Functions
    from kompono.foreign.instance import Instance
    from kompono.foreign.lock import lock
    from kompono.foreign.opened import Opened, told_from

    first = json.loads(read.readline())
    told, folder = told_from(first["told"]), Opened(first["folder"], first["members"])
    state: dict[str, Any] = {}

    def load() -> list[float]:
        state["instance"] = Instance(folder, told, first["kind"], first["values"])  # type: ignore[arg-type]
        return [state["instance"].next_event]

    def functions(still: list[str], through: list[str]) -> list[float]:
        outputs = {v.name: v for v in told.outputs}
        made = Functions(state["instance"], [outputs[name] for name in still], [outputs[name] for name in through])
        state["functions"] = made
        return made.epochs.first_sides if made.epochs is not None else []

    def do(op: str, given: list[Any]) -> list[float]:
        if op == "functions":
            return functions(*given)
        if op == "evaluate":
            import numpy as np

            return state["functions"].evaluate(given[0], np.array(given[1], dtype=float)).tolist()
        if op in ("begin", "write", "read", "step"):
            found = getattr(state["instance"], op)(*given)
            return [] if found is None else found.tolist()
        raise ValueError(op)

    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    if first["lock"]:
        lock()
    asked: tuple[str, list[Any]] | None = None
    while True:
        try:
            answer: dict[str, Any] = {"values": load() if asked is None else do(*asked)}
        except KomponoError as error:
            answer = {"wrong": str(error), "kind": type(error).__name__}
        except Exception as error:
            answer = {"wrong": f"{type(error).__name__}: {error}"[:300], "kind": "RunError"}
        write.write(json.dumps(answer).encode() + b"\n")
        write.flush()
        text = read.readline()
        if not text:
            os._exit(0)
        asked = tuple(json.loads(text))  # type: ignore[assignment]


if __name__ == "__main__":
    main()
