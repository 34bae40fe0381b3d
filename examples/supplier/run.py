"""Supplier and customer on one machine, as two hosts where that is possible.

    python examples/supplier/run.py [--until 0.2] [--step 1e-3]

1. The supplier seals its damper (machine code, no names, no numbers) and makes certificates: for its server, and for
   its customer.
2. It serves the damper with `kompono serve`. As root on Linux that happens in a network namespace of its own, joined to
   this one by a virtual cable, so that nothing is shared but the cable; elsewhere on 127.0.0.1.
3. The customer runs the car with both dampers at the supplier's; to compare, the supplier runs it with its sealed file.

Nothing outside a temporary folder is touched, and nothing is left behind.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SPACE, NEAR, FAR = f"supplier{os.getpid()}", f"near{os.getpid()}", f"far{os.getpid()}"
CUSTOMER, SUPPLIER = "10.77.0.1", "10.77.0.2"
KOMPONO = [sys.executable, "-c", "import sys; from kompono.edges.cli import main; sys.exit(main(sys.argv[1:]))"]


def kompono(*words: str, config: Path) -> None:
    """A command of the supplier's or the customer's, with a configuration of its own."""
    subprocess.run([*KOMPONO, *words], check=True, env={**os.environ, "KOMPONO_CONFIG": str(config)})


def ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)


@contextmanager
def cable() -> Iterator[tuple[str, list[str]]]:
    """The supplier's address, and how to run something there."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("ip") is None:
        yield "127.0.0.1", []
        return
    try:
        ip(f"netns add {SPACE}")
    except subprocess.CalledProcessError:
        yield "127.0.0.1", []
        return
    try:
        ip(f"link add {NEAR} type veth peer name {FAR}")
        ip(f"link set {FAR} netns {SPACE}")
        ip(f"addr add {CUSTOMER}/30 dev {NEAR}")
        ip(f"link set {NEAR} up")
        ip(f"-n {SPACE} addr add {SUPPLIER}/30 dev {FAR}")
        ip(f"-n {SPACE} link set {FAR} up")
        ip(f"-n {SPACE} link set lo up")
        yield SUPPLIER, ["ip", "netns", "exec", SPACE]
    finally:
        subprocess.run(["ip", "netns", "del", SPACE], check=False)


@contextmanager
def serving(inside: list[str], host: str, folder: Path) -> Iterator[None]:
    """The supplier's server, until the customer is done."""
    (folder / "clients.toml").write_text('[[customer]]\nname = "Car Ltd"\nparts = ["damper"]\nevaluations = 1000000\n')
    papers = [f"--{what}={folder}/certs/{file}" for what, file in (
        ("cert", "supplier.pem"), ("key", "supplier.key"), ("authority", "authority.pem"),
    )]  # fmt: skip
    words = ["serve", str(folder / "damper.part"), "--host", host, f"--clients={folder}/clients.toml", *papers]
    environment = {**os.environ, "KOMPONO_CONFIG": str(folder / "supplier")}
    server = subprocess.Popen([*inside, *KOMPONO, *words], env=environment, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    print(server.stdout.readline().strip() or "the server said nothing")
    try:
        yield
    finally:
        server.terminate()
        server.wait(timeout=20)


def main() -> None:
    """Seal, certify, serve, run, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--until", type=float, default=0.2, help="[s]")
    parser.add_argument("--step", type=float, default=1e-3, help="[s]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        tell(Path(place), options.until, options.step)


def tell(folder: Path, until: float, step: float) -> None:
    """The story, in a folder for both sides."""
    with cable() as (host, inside):
        print("supplier:", f"in a network namespace of its own, {host}" if inside else f"on this host, {host}")
        kompono("keys", "new", "--name", "Damper Ltd", config=folder / "supplier")
        kompono("seal", "examples/car.py:standing_damper", "--out", str(folder / "damper.part"),
                config=folder / "supplier")  # fmt: skip
        kompono("cert", "new", "--folder", str(folder / "certs"), "--supplier", "Damper Ltd", "--host", host,
                "--customer", "Car Ltd", config=folder / "supplier")  # fmt: skip
        papers = folder / "customer" / "remote"
        papers.mkdir(parents=True, mode=0o700)
        for file, name in (("car-ltd.pem", "certificate.pem"), ("car-ltd.key", "certificate.key"),
                           ("authority.pem", "authority.pem")):  # fmt: skip
            shutil.copy(folder / "certs" / file, papers / name)
        os.environ["KOMPONO_CONFIG"] = str(folder / "customer")
        with serving(inside, host, folder):
            compare(f"{host}:7443/damper", folder, until, step)


def compare(address: str, folder: Path, until: float, step: float) -> None:
    """The car with dampers at the supplier's against the car with the file of the damper, where it was sealed."""
    import numpy as np

    from kompono import Sealed, simulate
    from kompono.examples.car import Car

    sys.path.insert(0, str(Path(__file__).parent))
    from car import SuppliedCar  # type: ignore[import-not-found]

    begun = time.perf_counter()
    supplied = simulate(SuppliedCar(address), until=until, step=step, method="rk4")
    seconds = time.perf_counter() - begun
    os.environ["KOMPONO_CONFIG"] = str(folder / "supplier")
    home = simulate(Car(lambda: Sealed(folder / "damper.part")), until=until, step=step, method="rk4")
    assert supplied.status.ok, supplied.status.message
    shared = [name for name in supplied if name in home]
    worst = max(float(np.abs(supplied[name] - home[name]).max() / (1 + np.abs(home[name]).max())) for name in shared)
    print(f"{until:g} s of the car, rk4 with {step:g} s, took {seconds:.1f} s, translation and assembly included")
    print(f"  round trips: {supplied.statistics['round_trips']}")
    ends = [f"{result['body.position.z'][-1]:.15f}" for result in (supplied, home)]
    print(f"  z of the body at the end: {ends[0]} m, with the file {ends[1]} m")
    print(f"  largest difference of {len(shared)} channels, relative: {worst:.1e}")


if __name__ == "__main__":
    main()
