"""What it costs to have a part elsewhere: in another process, as WebAssembly, at a keeper, on a rank, at a supplier's.

    python benchmarks/elsewhere.py [evaluations|edits|remote|ranks]     about three minutes on two quiet processors

Evaluations are those of a beam with a damper under it (no loops), and of the car with two dampers (loops through them):
the shortest of many rk4 steps divided by its evaluations, less that of the closed part in one process. Remote runs
count their round trips; the slow link is a relay of 5 ms each way. Ranks: `benchmarks/ranks.py` for trees and chains,
and the car's two suspensions on ranks of their own. Edits: processor seconds from a model to its first step, in one
process over lines in it, and how often a part is asked before that.
"""

from __future__ import annotations

import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from kompono import Body, Ground, Remote, Sealed, Simulation, Subsystem, seal, simulate
from kompono.compile import targets
from kompono.elsewhere.direct import DirectLine
from kompono.elsewhere.hosts import InProcess
from kompono.elsewhere.serve import opener
from kompono.examples.car import Car, Damper, standing_damper
from kompono.library import Gravity, Revolute
from kompono.request import Request
from kompono.sealed import keys
from kompono.solve.settings import settings_of
from kompono.spatial.pose import Pose

MAIN = "import sys; from kompono.edges.cli import main; sys.exit(main(sys.argv[1:]))"
DELAY = 5e-3  # [s] each way
CHANNELS = ["energy.kinetic"]
PATIENCE = 5.0  # [s] for one number


def soft_damper() -> Damper:
    return Damper(damping=300.0)


class Hanging(Subsystem):
    """A damper under a beam."""

    def __init__(self, damper: Any) -> None:
        self.ground, self.gravity, self.damper = Ground(), Gravity(), damper
        self.beam = Body(mass=2.0, inertia=(0.1, 0.2, 0.2))
        self.pin = Revolute(self.ground, self.beam.at(-0.5, 0, 0), axis="y", angle=0.2)
        self.eye = Revolute(self.beam.at(0.5, 0, 0), damper.cylinder.at(0, 0, -0.3), axis="y")


class Two(Subsystem):
    """Two such beams: two parts that are asked at the same time."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.left, self.right = Hanging(make()), Hanging(make())


def step_time(simulation: Simulation, steps: int, least: int = 7) -> tuple[float, Any]:
    """The shortest time of a step [s] of rk4 over runs of so many steps, and the last result."""
    settings = settings_of(Request(until=steps * 1e-3, step=1e-3, every=steps))
    best, result, begun = float("inf"), None, time.perf_counter()
    for k in range(least):
        if k and time.perf_counter() - begun > PATIENCE:
            break
        result = simulation.run(settings, channels=CHANNELS)
        assert result.status.ok, result.status
        best = min(best, result.statistics["seconds_run"] / steps)
    return best, result


# -- evaluations


def evaluations(folder: Path) -> None:
    """Places on this computer."""
    print("\n| machine | part | us an evaluation | more than closed |\n|---|---|--:|--:|")
    _evaluated("beam, one damper", lambda kind: Hanging(kind()), soft_damper, ("damper",), folder / "1.part")
    both = ("left.damper", "right.damper")
    _evaluated("car, two dampers", lambda kind: Car(damper=kind), standing_damper, both, folder / "2.part")


def _evaluated(
    name: str, model: Callable[[Any], Subsystem], part: Callable[[], Any], paths: tuple[str, ...], file: Path
) -> None:
    seal(part(), file, targets=[str(targets.fitting(targets.TARGETS)), "wasm32"])
    places: dict[str, Callable[[], Simulation]] = {
        "closed, here": lambda: Simulation(model(part), closed=paths),
        "in a process of its own": lambda: Simulation(model(part), closed=paths, isolate=paths),
        "sealed, here": lambda: Simulation(model(lambda: Sealed(file))),
        "sealed, isolated": lambda: Simulation(model(lambda: Sealed(file, isolate=True))),
        "sealed, WebAssembly": lambda: Simulation(model(lambda: Sealed(file, wall="wasm"))),
        "a keeper in this process": lambda: Simulation(model(part), elsewhere=dict.fromkeys(paths, InProcess())),
    }
    base = 0.0
    for place, simulation in places.items():
        found = 1e6 * step_time(simulation(), 2000)[0] / 4
        base = base or found
        print(f"| {name} | {place} | {found:.2f} | {found - base:+.2f} |", flush=True)


# -- edits


def edits(folder: Path) -> None:
    """Another number around remote dampers of the car, with a cache of its own."""
    seal(standing_damper(), folder / "3.part", targets=[str(targets.fitting(targets.TARGETS))])
    served, lines = opener(folder / "3.part"), list[DirectLine]()

    def connect(hello: bytes, kept: bytes | None = None) -> DirectLine:
        lines.append(DirectLine(served, hello, kept=kept))
        return lines[-1]

    def run(mass: float = 585.0, out: float = 0.1) -> tuple[float, int]:
        lines.clear()
        car = Car(lambda: Remote("here:1/damper", connect=connect))
        car.body.solid = replace(car.body.solid, mass=mass)
        car.left_strut.first.pose = Pose((-out, 0, 0))
        begun = time.process_time()
        assert simulate(car, until=1e-3, step=1e-3).status.ok
        return time.process_time() - begun, min(line.round_trips for line in lines if line.round_trips)

    with tempfile.TemporaryDirectory() as other:
        os.environ["KOMPONO_CACHE"] = other
        run()  # imports are not counted
    os.environ["KOMPONO_CACHE"] = str(folder / "cache")
    print("\n| car, remote dampers | processor s to the first step | asked before it |\n|---|--:|--:|")
    given: dict[str, tuple[float, ...]] = {
        "new": (),
        "the same again": (),
        "other mass": (590.0,),
        "moved": (585.0, 0.11),
    }
    for name, numbers in given.items():
        seconds, asked = run(*numbers)
        print(f"| {name} | {seconds:.2f} | {asked} |", flush=True)


# -- remote


class Relay:
    """A link that takes `delay` [s] each way."""

    def __init__(self, target: int, delay: float) -> None:
        self._target, self._delay = target, delay
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._start(self._accept)

    def _start(self, function: Callable[..., None], *given: Any) -> None:
        threading.Thread(target=function, args=given, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                there = socket.create_connection(("127.0.0.1", self._target))
                for one, other in ((here, there), (there, here)):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    held: queue.Queue[tuple[float, bytes]] = queue.Queue()
                    self._start(self._take, one, held)
                    self._start(self._give, other, held)

    def _take(self, source: socket.socket, held: queue.Queue[tuple[float, bytes]]) -> None:
        data = b"first"
        while data:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            held.put((time.perf_counter() + self._delay, data))

    def _give(self, target: socket.socket, held: queue.Queue[tuple[float, bytes]]) -> None:
        with suppress(OSError):
            while True:
                due, data = held.get()
                time.sleep(max(due - time.perf_counter(), 0.0))
                if not data:
                    target.shutdown(socket.SHUT_RDWR)
                    return
                target.sendall(data)


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """`kompono serve` of both dampers, with certificates; its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    certs, remote = folder / "certs", folder / "config" / "remote"
    words = ["cert", "new", "--folder", str(certs), "--supplier", "Ada", "--host", "127.0.0.1", "--customer", "Bea"]
    subprocess.run([sys.executable, "-c", MAIN, *words], check=True, capture_output=True)
    remote.mkdir(parents=True)
    for name, file in (("certificate.pem", "bea.pem"), ("certificate.key", "bea.key"), ("authority.pem",) * 2):
        (remote / name).write_bytes((certs / file).read_bytes())
        (remote / name).chmod(0o600)
    (folder / "clients.toml").write_text('[[customer]]\nname = "Bea"\nparts = ["*"]\n')
    words = ["serve", f"one={folder / '1.part'}", f"two={folder / '2.part'}", "--port", str(port), "--clients"]
    words += [str(folder / "clients.toml"), "--cert", str(certs / "supplier.pem"), "--key", str(certs / "supplier.key")]
    words += ["--authority", str(certs / "authority.pem")]
    process = subprocess.Popen([sys.executable, "-c", MAIN, *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert "serving" in process.stdout.readline()
        yield port
    finally:
        process.terminate()
        process.wait()


def remote(folder: Path) -> None:
    """Round trips over mutual TLS, without and with a delay."""
    for file, part in (("1.part", soft_damper()), ("2.part", standing_damper())):
        if not (folder / file).exists():
            seal(part, folder / file, targets=[str(targets.fitting(targets.TARGETS))])
    print(
        "\n| machine | link | round trips an rk4 step, each part | ms a step | ms a round trip |\n|---|---|--:|--:|--:|"
    )
    with served(folder) as port:
        for link, at in (("loopback", port), ("5 ms each way", Relay(port, DELAY).port)):
            address = f"127.0.0.1:{at}/"
            for name, model in (
                ("beam, one damper", lambda a=address: Hanging(Remote(a + "one"))),
                ("two beams, two dampers", lambda a=address: Two(lambda: Remote(a + "one"))),
                ("car, two dampers", lambda a=address: Car(damper=lambda: Remote(a + "two"))),
            ):
                steps, simulation = (20 if at != port else 200), Simulation(model())
                seconds, result = step_time(simulation, steps, 2)
                _, longer = step_time(simulation, 2 * steps, 1)
                few, many = (max(r.statistics["round_trips"].values()) for r in (result, longer))
                each = (many - few) / steps
                print(
                    f"| {name} | {link} | {each:.1f} | {1e3 * seconds:.2f} | {1e3 * seconds / each:.3f} |", flush=True
                )


# -- ranks


def ranks(folder: Path) -> None:
    """Closed parts with loops on ranks, and trees and chains."""
    print("\n| car, both suspensions closed | ms a step of rk4 |\n|---|--:|")
    for count in (1, 2, 3):
        _mpi(count, [__file__, "car"])
    here = str(Path(__file__).with_name("ranks.py"))
    for name, bodies in (("tree", 2044), ("tree", 131068), ("chain", 131072)):
        for count in (1, 2):
            subprocess.run([sys.executable, here, name, str(bodies), str(count)], check=True)


def _mpi(count: int, words: list[str]) -> None:
    environment = {**os.environ, "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"):
        environment |= {name: "1", f"{name}_CONFIRM": "1"}
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    subprocess.run([mpiexec, "-n", str(count), sys.executable, "-m", "mpi4py", *words], env=environment, check=True)


def car_on_ranks() -> None:
    """What each process does."""
    from mpi4py import MPI

    best = float("inf")
    for _ in range(4):
        result = simulate(
            Car(), until=1.0, step=1e-3, every=1000, channels=CHANNELS, closed=["left", "right"], ranks=True
        )
        best = min(best, result.statistics["seconds_run"])
    if MPI.COMM_WORLD.Get_rank() == 0:
        print(f"| {MPI.COMM_WORLD.Get_size()} ranks, {result.statistics['homes']} | {best:.4f} |", flush=True)


def main(words: list[str]) -> None:
    """All, or what is named."""
    warnings.simplefilter("ignore")
    if words == ["car"]:
        car_on_ranks()
        return
    chosen = [part for part in (evaluations, edits, remote, ranks) if part.__name__ in words or not words]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["KOMPONO_CONFIG"] = str(folder / "config")
        keys.make("Ada")
        for part in chosen:
            begun = time.perf_counter()
            part(folder)
            print(f"({part.__name__}: {time.perf_counter() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
