"""A pole balanced on a cart, in real time: by a function, or by a controller in a process of its own.

python -m kompono.examples.balance            a function is the controller; 5 s, with a push at 2 s
python -m kompono.examples.balance udp        the controller is another process, over UDP
python -m kompono.examples.balance memory     the same over shared memory
kompono run examples/balance.py --realtime --udp 5005 --send rail.displacement --send pin.angle \
    --send rail.displacement.rate --send pin.angle.rate --receive force --wait 60   and, in another terminal,
python -m kompono.examples.balance controller 5005
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from kompono import Body, Ground, Input, Result, Sensor, Subsystem, simulate
from kompono.library import Gravity, JointEffort, Prismatic, Revolute, solids
from kompono.realtime import LiveFrame, RealTime, SharedMemory, SharedMemoryClient, Udp, UdpClient

MEASURED = ["rail.displacement", "pin.angle", "rail.displacement.rate", "pin.angle.rate"]
GAINS = (4.472, 53.49, 6.327, 13.79)  # [N/m, N/rad, N s/m, N s/rad] of a linear quadratic regulator
PORT, MEMORY = 5005, "balance"


class Balance(Subsystem):
    """A cart of 1 kg on a rail with a pole of 0.2 kg and 1 m on it, not quite upright; `force` [N] moves the cart."""

    run_defaults = {"until": 5.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self, *, angle: float = 0.1) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.cart = Body(solids.box(mass=1.0, size=(0.3, 0.2, 0.1)))
        self.pole = Body(solids.rod(mass=0.2, length=1.0, radius=0.01))
        self.rail = Prismatic(self.ground, self.cart, axis="x")
        self.pin = Revolute(self.cart, self.pole.at(0, 0, -0.5), axis="y", angle=angle)
        self.force, self.push = Input(0.0, unit="N"), Input(0.0, unit="N")
        self.motor = JointEffort(self.rail, self.force + self.push)
        self.tip = Sensor(self.pole.at(0, 0, 0.5))


def control(measured: Any) -> float:
    """The force on the cart, from what is measured."""
    return sum(gain * measured[name] for gain, name in zip(GAINS, MEASURED, strict=True))


def steer(frame: LiveFrame) -> None:
    """The controller as a function that is called each frame."""
    frame["force"] = control(frame)


def disturb(frame: LiveFrame) -> None:
    """A push of 20 N for a tenth of a second."""
    frame["push"] = 20.0 if 2.0 <= frame.time < 2.1 else 0.0


def run(way: str = "function", *, until: float = 5.0, speed: float = 1.0) -> Result:
    """Balance, with the controller here (`function`) or in another process (`udp`, `memory`)."""
    names: Any = {"outputs": MEASURED, "inputs": ["force"], "wait": 20.0}
    links = {"udp": lambda: Udp(PORT, **names), "memory": lambda: SharedMemory(MEMORY, **names)}
    observers = [disturb, links[way]() if way in links else steer]
    other = [sys.executable, __file__, "controller", str(PORT) if way == "udp" else MEMORY]
    process = subprocess.Popen(other) if way in links else None
    try:
        return simulate(Balance(), until=until, realtime=RealTime(frame=0.005, speed=speed, on_frame=observers))
    finally:
        if process is not None:
            process.wait(timeout=30)


def controller(where: str) -> None:
    """The controller as a process of its own: five lines."""
    names: Any = {"inputs": ["force"], "outputs": MEASURED}
    client = UdpClient(int(where), **names) if where.isdecimal() else SharedMemoryClient(where, **names)
    with client as balance:
        for measured in balance:
            balance.send({"force": control(measured)})


def main() -> None:
    """Run as the command says."""
    if sys.argv[1:2] == ["controller"]:
        controller(sys.argv[2])
        return
    result = run(*sys.argv[1:2])
    print(result.summary())
    print(f"  tip        strayed by {abs(result['tip.position.x']).max():.3f} m")


if __name__ == "__main__":
    main()
