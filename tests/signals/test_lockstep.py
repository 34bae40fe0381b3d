"""A controller behind a link that the run waits for gives what the same controller gives here, to the last bit."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from signals.support import Asked, law

from kompono import simulate
from kompono.realtime import Lockstep, SharedMemory, SharedMemoryClient, Udp, UdpClient

NAMES = {"outputs": ["place", "speed"], "inputs": ["push"]}


def answer(client, until=np.inf):
    """The other side, in a thread here."""

    def serve():
        with client:
            for frame in client:
                if client.time > until:
                    return
                client.send({"push": law(frame["place"], frame["speed"])})

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


def free_port():
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("kind", ["udp", "shared"])
def test_lockstep_is_the_same_as_here(kind):
    if kind == "udp":
        port = free_port()
        link, other = Udp(port, **NAMES, wait=20.0), UdpClient(port, **NAMES)
    else:
        name = f"kompono-lockstep-{os.getpid()}"
        link, other = SharedMemory(name, **NAMES, wait=20.0), SharedMemoryClient(name, **NAMES)
    here = simulate(Asked(lambda t, x, v: law(x, v)), until=0.5, step=1e-3)
    thread = answer(other)
    there = simulate(Asked(Lockstep(link)), until=0.5, step=1e-3)
    thread.join(timeout=10.0)
    assert not thread.is_alive()  # it was told that the run is over
    assert np.array_equal(there.table, here.table)


def test_no_answer_ends_the_run():
    port = free_port()
    thread = answer(UdpClient(port, **NAMES), until=0.2)
    model = Asked(Lockstep(Udp(port, **NAMES, wait=20.0), timeout=0.5))
    with pytest.warns(match="did not run as planned"):
        result = simulate(model, until=0.5, step=1e-3)
    thread.join(timeout=10.0)
    assert "control: the callable raised TimeoutError" in result.status.message
    assert result.time[-1] == pytest.approx(0.21)
