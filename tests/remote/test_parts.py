"""Real parts over a real network: a sealed damper that is served, by a server that is killed in the middle of a run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("grpc", reason="kompono[remote] is not installed")

from kompono import Body, Ground, Remote, Sealed, Subsystem, resume, seal, simulate
from kompono.compile import targets
from kompono.examples.car import Damper
from kompono.library import Gravity, Revolute
from kompono.remote import LinkLost
from kompono.sealed import keys

MAIN = "import sys; from kompono.edges.cli import main; sys.exit(main(sys.argv[1:]))"
RUN: dict[str, Any] = {"until": 0.6, "step": 1e-3, "method": "rk4", "every": 50, "channels": ["beam.*", "pin.*"]}


class Hanging(Subsystem):
    """A damper under a beam."""

    def __init__(self, damper: Subsystem) -> None:
        self.ground, self.gravity, self.damper = Ground(), Gravity(), damper
        self.beam = Body(mass=2.0, inertia=(0.1, 0.2, 0.2))
        self.pin = Revolute(self.ground, self.beam.at(-0.5, 0, 0), axis="y", angle=0.2)
        self.eye = Revolute(self.beam.at(0.5, 0, 0), damper.cylinder.at(0, 0, -0.3), axis="y")


class Supplier:
    """A server that can be killed and started again."""

    def __init__(self, file: Path, config: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._words = ["serve", str(file), "--port", str(self.port), "--insecure-loopback"]
        self._environment = {**os.environ, "KOMPONO_CONFIG": str(config), "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = self._started()

    def _started(self) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-c", MAIN, *self._words], env=self._environment, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert "serving" in process.stdout.readline()
        return process

    def kill(self) -> None:
        """As by a power cut."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def start(self) -> None:
        """At the same address as before."""
        self.process = self._started()

    def restart(self) -> None:
        """As after a power cut."""
        self.kill()
        self.start()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=120)


class Killer:
    """Looks on for a while."""

    channels: tuple[str, ...] = ("pin.angle",)

    def __init__(self, server: Supplier) -> None:
        self._server = server

    def update(self, time: float, values: np.ndarray) -> None:
        """Kill the server in the middle of the run."""
        if time > 0.2:
            self._server.kill()


@pytest.fixture(scope="module")
def supplier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Supplier, Path]]:
    folder = tmp_path_factory.mktemp("supplier")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KOMPONO_CONFIG", str(folder / "config"))
        keys.make("Damper Ltd")
        file = folder / "damper.part"
        seal(Damper(damping=300.0), file, targets=[str(targets.fitting(targets.TARGETS))])
        server = Supplier(file, folder / "config")
        yield server, file
        server.end()


@pytest.fixture(scope="module")
def at_home(supplier: tuple[Supplier, Path]) -> Any:
    return simulate(Hanging(Sealed(str(supplier[1]))), **RUN)


def same(found: Any, other: Any) -> None:
    assert found.status.ok, found.status.message
    assert all(np.array_equal(found[name], other[name]) for name in other.names)


def test_a_served_part_moves_as_the_sealed_one(supplier: tuple[Supplier, Path], at_home: Any) -> None:
    result = simulate(Hanging(Remote(f"127.0.0.1:{supplier[0].port}/damper", insecure=True)), **RUN)
    same(result, at_home)
    trips = result.statistics["round_trips"]["damper"]
    assert 4 * 600 <= trips < 4.5 * 600  # four a step of a machine without loops, and those of records


def test_a_supplier_that_is_killed_in_the_middle(supplier: tuple[Supplier, Path], at_home: Any) -> None:
    server, model = supplier[0], Hanging(Remote(f"127.0.0.1:{supplier[0].port}/damper", insecure=True))
    before = server.process.pid
    timer = threading.Timer(0.4, server.restart)
    begun = time.perf_counter()
    timer.start()
    result = simulate(model, **RUN)
    timer.join()
    assert server.process.pid != before
    assert time.perf_counter() - begun > 0.4  # the run was going on
    same(result, at_home)


def test_a_supplier_that_does_not_come_back(supplier: tuple[Supplier, Path], at_home: Any, tmp_path: Path) -> None:
    """The run ends with its reason and what it has; when the supplier is there again, it goes on with the same bits."""
    server, address = supplier[0], f"127.0.0.1:{supplier[0].port}/damper"
    model = Hanging(Remote(address, insecure=True, patience=0.5))
    try:
        with pytest.warns(match="nobody listens"):
            lost = simulate(model, hdf5=tmp_path / "run.h5", watcher=Killer(server), **RUN)
        with pytest.raises(LinkLost, match="nobody listens"):
            resume(Hanging(Remote(address, insecure=True, patience=0.5)), tmp_path / "run.h5")
    finally:
        server.kill()
        server.start()
    count = len(lost.time) - 1  # the last is where it ended, on the grid of records or not
    assert count > 0
    assert all(np.array_equal(lost[name][:count], at_home[name][:count]) for name in at_home.names)
    same(resume(Hanging(Remote(address, insecure=True)), tmp_path / "run.h5"), at_home)
