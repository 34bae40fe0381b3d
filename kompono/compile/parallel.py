"""Several objects assembled at once. llvmlite holds a lock around every call, so threads alone would wait for each
other: beside this process, helper processes take texts from the same pile. They import llvmlite and nothing else, need
0.2 s to start, and are asked only if there is work for longer than that. Without them (no second processor, or they
cannot be started) everything is assembled here.
"""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from collections.abc import Sequence

from kompono.compile import assembler
from kompono.compile.host import processors
from kompono.errors import CompileError
from kompono.notice import Notice

WORTHWHILE = 300_000  # characters of text beside the longest one, about half a second of work


def assemble_all(texts: Sequence[tuple[str, bool]]) -> list[bytes]:
    """Object code of each (text, whether it has loops), in their order."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i][0]))
    pile: queue.SimpleQueue[int] = queue.SimpleQueue()
    for i in order:
        pile.put(i)
    done: dict[int, bytes | str] = {}
    with Notice("compiling") as notice:
        helpers = [_Helper(pile, texts, done) for _ in range(_helpers(texts))]
        for helper in helpers:
            helper.start()
        try:
            while (i := _next(pile)) is not None:
                notice.text = f"compiling, {len(done)} of {len(texts)} parts done"
                text, loops = texts[i]
                try:
                    done[i] = assembler.assemble(text, loops=loops)
                except RuntimeError as error:
                    done[i] = str(error)
            for helper in helpers:
                helper.join()
        except KeyboardInterrupt:
            while _next(pile) is not None:  # nobody wants the rest
                pass
            raise
    return [_checked(done[i]) for i in range(len(texts))]


def _helpers(texts: Sequence[tuple[str, bool]]) -> int:
    sizes = sorted(len(text) for text, _ in texts)
    if not sizes or sum(sizes[:-1]) < WORTHWHILE:
        return 0
    return min(processors(), len(texts)) - 1


def _next(pile: queue.SimpleQueue[int]) -> int | None:
    try:
        return pile.get_nowait()
    except queue.Empty:
        return None


def _checked(made: bytes | str) -> bytes:
    if isinstance(made, str):
        raise CompileError(f"the code generator wrote invalid code: {made}")
    return made


class _Helper(threading.Thread):
    """A thread that hands texts to a process of its own; what the process cannot do goes back on the pile."""

    def __init__(
        self, pile: queue.SimpleQueue[int], texts: Sequence[tuple[str, bool]], done: dict[int, bytes | str]
    ) -> None:
        super().__init__(daemon=True)
        self.pile, self.texts, self.done = pile, texts, done

    def run(self) -> None:
        """Until the pile is empty or the process fails."""
        command = [sys.executable, "-P", assembler.__file__]
        try:
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
                while (i := _next(self.pile)) is not None:
                    try:
                        self.done[i] = self._ask(process, *self.texts[i])
                    except (OSError, ValueError):
                        self._myself(i)
                        return
                if process.stdin is not None:
                    process.stdin.write(b"\n")  # its input may not end: who forked meanwhile has it open, too
        except OSError:
            return

    def _ask(self, process: subprocess.Popen[bytes], text: str, loops: bool) -> bytes | str:
        assert process.stdin is not None
        assert process.stdout is not None
        data = text.encode()
        process.stdin.write(b"%d %d\n" % (loops, len(data)) + data)
        process.stdin.flush()
        head = process.stdout.readline().split()
        size = int(head[-1]) if head else -1
        answer = process.stdout.read(size) if size >= 0 else b""
        if len(answer) != size:
            raise ValueError("the helper ended")
        return answer.decode() if head[0] == b"error" else answer

    def _myself(self, i: int) -> None:
        text, loops = self.texts[i]
        try:
            self.done[i] = assembler.assemble(text, loops=loops)
        except RuntimeError as error:
            self.done[i] = str(error)
