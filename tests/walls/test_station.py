"""Worker processes: they answer, they can be locked up, and whatever becomes of them is told and never waited for."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time as clock

import numpy as np
import pytest
from walls.native import asker, code

from kompono.compile.walls import ask, filters, station
from kompono.compile.walls.station import Station
from kompono.errors import CompileError

pytestmark = pytest.mark.skipif(not station.available(), reason="no worker processes on this system")
walled = pytest.mark.skipif(not filters.available(), reason="no seccomp on this system")


def running(*names: str, locked: bool = False) -> Station:
    place = Station("part", locked=locked)
    for name in names:
        place.add([code(name)], [name])
    place.ready()
    return place


@pytest.mark.parametrize("locked", [False, pytest.param(True, marks=walled)])
def test_a_worker_answers(locked: bool) -> None:
    place = running("root", "tiny", locked=locked)
    assert asker(place, place.number("root"))([2.0]) == np.sqrt(2.0)
    assert asker(place, place.number("tiny"))([3.0]) == 1.5
    clock.sleep(0.2)  # it sleeps by now
    assert asker(place, place.number("root"))([9.0]) == 3.0
    assert place.process != os.getpid()
    assert not place.trouble()


def test_more_code_comes_to_a_worker_that_runs() -> None:
    place = running("root")
    first = place.process
    place.add([code("tiny")], ["tiny"])
    place.ready()
    assert asker(place, place.number("tiny"))([3.0]) == 1.5
    assert asker(place, place.number("root"))([4.0]) == 2.0
    assert place.process == first


def test_a_locked_worker_takes_no_more_code() -> None:
    if not filters.available():
        pytest.skip("no seccomp on this system")
    place = running("root", locked=True)
    place.add([code("tiny")], ["tiny"])
    with pytest.raises(CompileError, match="locked"):
        place.ready()


@walled
@pytest.mark.parametrize("name", ["opens", "connects", "forks", "writes"])
def test_behind_the_wall_nothing_but_computing_is_possible(name: str) -> None:
    place = running("root", name, locked=True)
    assert np.isnan(asker(place, place.number(name))([1.0]))
    assert "the wall forbids" in place.trouble()
    assert np.isnan(asker(place, place.number("root"))([4.0]))  # it stays broken
    place.revive()
    assert asker(place, place.number("root"))([4.0]) == 2.0


def test_the_same_code_is_not_stopped_without_a_wall() -> None:
    place = running("opens")
    assert asker(place, place.number("opens"))([1.0]) >= 0


def test_a_crash_is_told() -> None:
    place = running("crash")
    assert np.isnan(asker(place, place.number("crash"))([1.0]))
    assert "SIGSEGV" in place.trouble()


def test_a_worker_that_gives_no_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "PATIENCE", 1)
    station.ask_object.cache_clear()
    try:
        place = running("endless")
        assert np.isnan(asker(place, place.number("endless"))([1.0]))
        assert "no answer" in place.trouble()
        place.close()
    finally:
        station.ask_object.cache_clear()


def test_a_killed_worker_is_told_and_replaced() -> None:
    place = running("root")
    assert place.process is not None
    os.kill(place.process, signal.SIGKILL)
    assert np.isnan(asker(place, place.number("root"))([4.0]))
    assert "SIGKILL" in place.trouble()
    place.revive()
    assert not place.broken
    assert asker(place, place.number("root"))([4.0]) == 2.0


def test_threads_take_turns() -> None:
    place = running("root")
    call, wrong = asker(place, place.number("root")), []

    def many(start: int) -> None:
        for k in range(start, start + 300):
            if call([float(k * k)]) != k:
                wrong.append(k)

    threads = [threading.Thread(target=many, args=(1000 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_cannot_be_linked_is_told() -> None:
    place = Station("part", locked=False)
    place.add([code("root")], ["missing"])
    with pytest.raises(CompileError, match=r"part: .*linked"):
        place.ready()


@walled
def test_damaged_objects_end_the_worker_only() -> None:
    rng = np.random.default_rng(1)
    for _ in range(6):
        data = bytearray(code("root"))
        for place in rng.integers(0, len(data), 20):
            data[place] = rng.integers(256)
        there = Station("part", locked=True)
        there.add([bytes(data)], ["root"])
        try:
            there.ready()
            asker(there, 0)([4.0])
        except CompileError:
            pass
        there.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_asks_a_worker_of_its_own() -> None:
    place = running("root")
    call, number = asker(place, place.number("root")), place.process
    assert call([4.0]) == 2.0
    child = os.fork()
    if not child:
        before = np.isnan(call([9.0]))[0]  # nobody answers
        place.revive()
        good = before and call([9.0]) == 3.0 and place.process != number
        place.close()
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert call([16.0]) == 4.0
    assert place.process == number


def test_the_end_of_a_station_is_the_end_of_its_worker() -> None:
    place = running("root")
    number = place.process
    assert number is not None
    os.kill(number, 0)
    del place
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_a_worker_has_nothing_of_its_user() -> None:
    if sys.platform != "linux":
        pytest.skip("looks at /proc")
    os.environ["KOMPONO_TEST_SECRET"] = "1"
    try:
        place = running("root", locked=filters.available())
        assert place.process is not None
        with open(f"/proc/{place.process}/environ", "rb") as file:
            assert b"SECRET" not in file.read()
        files = [os.readlink(f"/proc/{place.process}/fd/{k}") for k in os.listdir(f"/proc/{place.process}/fd")]
        assert {name.split(":")[0] for name in files} <= {"/dev/null", "/memfd", "socket"}  # what it is told by
    finally:
        del os.environ["KOMPONO_TEST_SECRET"]
