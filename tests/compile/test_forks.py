"""Processes that are copied while a thread makes native code can make their own."""

from __future__ import annotations

import os
import threading
import time

import pytest

from kompono.compile import assembler, jit

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
PATIENCE = 30.0  # s
LONG = "\n".join(f"%x{k} = fdiv double %x{k - 1}, {k}.5" for k in range(1, 600))


def text(number: int) -> str:
    """A function that returns a number, after much that nobody uses but LLVM does not see."""
    return (
        f"define i64 @answer(ptr %p) {{\n%x0 = load double, ptr %p\n{LONG}\n"
        f"store double %x599, ptr %p\nret i64 {number}\n}}"
    )


def works(number: int) -> bool:
    function = jit.load([assembler.assemble(text(number))], "answer")
    return function(bytes(8)) == number


def ends_well(child: int) -> bool:
    """Whether a process ends with 0 before long; it is ended if not."""
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks beside threads, from Python 3.12 on
def test_a_fork_waits_for_threads_in_llvm() -> None:
    going, begun = threading.Event(), threading.Event()

    def work() -> None:
        number = 100
        while not going.is_set():
            works(number := number + 1)
            begun.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert begun.wait(PATIENCE)
    try:
        for number in range(4):
            child = os.fork()
            if not child:
                os._exit(0 if works(number) else 1)
            assert ends_well(child)
    finally:
        going.set()
        thread.join()
