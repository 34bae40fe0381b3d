"""The customer: a car whose dampers stay at their supplier's. It knows an address, two ports and nothing else.

kompono run examples/supplier/car.py --set address=10.77.0.2:7443/damper
"""

from __future__ import annotations

from kompono import Remote
from kompono.examples.car import Car


class SuppliedCar(Car):
    """The car of the papers; `address` (host:port/part) is where its two dampers are."""

    def __init__(self, address: str = "127.0.0.1:7443/damper", insecure: bool = False) -> None:
        super().__init__(lambda: Remote(address, insecure=insecure))
