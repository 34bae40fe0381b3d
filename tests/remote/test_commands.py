"""`kompono cert` and `kompono serve`, as users type them."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from remote.support import FRAMES, PROGRAM, Papers, Process, free_port, line, undisturbed

from kompono.edges.cli import main
from kompono.errors import RemoteError
from kompono.remote import LinkLost, Refused, credentials
from kompono.remote.allowed import Grant, read_allowed

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / "config"))
    return tmp_path


def test_certificates_are_made_and_shown(folder: Path, capsys: Capture) -> None:
    words = ["cert", "new", "--folder", "certs", "--supplier", "Ada Ltd", "--host", "ada.example", "--host", "10.0.0.5"]
    assert main([*words, "--customer", "Car Ltd", "--days", "30"]) == 0
    made = capsys.readouterr().out
    names = ("authority", "supplier", "car-ltd")
    assert sorted(path.name for path in (folder / "certs").iterdir()) == sorted(
        f"{name}{suffix}" for name in names for suffix in (".pem", ".key")
    )
    assert all((folder / "certs" / f"{name}.key").stat().st_mode & 0o777 == 0o600 for name in names)
    assert main(["cert", "show", "certs/supplier.pem"]) == 0
    shown = capsys.readouterr().out
    assert shown in made
    for word in ("Ada Ltd", "serving", "ada.example, 10.0.0.5", "signed by:   Ada Ltd authority"):
        assert word in shown
    assert main(["cert", "new", "--folder", "certs", "--customer", "Bus Ltd"]) == 0  # by the same authority
    assert "signed by:   Ada Ltd authority" in capsys.readouterr().out
    for stem, role in (("supplier", "supplier"), ("car-ltd", "customer"), ("bus-ltd", "customer")):
        credentials.read(f"certs/{stem}.pem", f"certs/{stem}.key", "certs/authority.pem", role)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("cert new", "say for whom"),
        ("cert new --supplier Ada", "needs the host names"),
        ("cert new --customer Car --host h.example", "--host belongs to --supplier"),
        ("cert new --customer Car --days 0", "0 days"),
        ("cert new --supplier Ada --host no/host", "is no host name"),
        ("cert new --customer Supplier", "would be made twice|another folder"),
        ("cert new --customer A --customer a", "twice"),
        ("cert new --folder made --customer Car", "made/car.key: is there already"),
        ("cert new --folder made --authority Other --customer Bus", "there is an authority already"),
        ("cert show made/car.key", "no certificate in PEM"),
        ("cert show nothing.pem", "nothing.pem: cannot be read"),
    ],
)
def test_what_cannot_be_made(folder: Path, capsys: Capture, words: str, reason: str) -> None:
    assert main(["cert", "new", "--folder", "made", "--customer", "Car"]) == 0
    before = sorted(os.listdir(folder))
    assert main(words.split()) == 1
    told = capsys.readouterr().err
    assert any(one in told for one in reason.split("|"))
    assert sorted(os.listdir(folder)) == before  # nothing is half made


def test_credentials_are_looked_at_before_they_are_used(papers: Papers, tmp_path: Path) -> None:
    place = papers.folder
    car, key, authority = place / "car-ltd.pem", place / "car-ltd.key", place / "authority.pem"
    open_key = tmp_path / "open.key"
    open_key.write_bytes(key.read_bytes())
    open_key.chmod(0o644)
    for files, reason in (
        ((car, place / "supplier.key", authority), "not the key of"),
        ((car, open_key, authority), "can be read by others"),
        ((car, tmp_path / "none.key", authority), "none.key: cannot be read"),
        ((place / "supplier.pem", place / "supplier.key", authority), "of a supplier, not of a customer"),
        ((authority, place / "authority.key", authority), "of an authority, not of a customer"),
        ((car, key, open_key), "no certificate"),
    ):
        with pytest.raises(RemoteError, match=reason):
            credentials.read(*files, role="customer")


def test_serve_from_certificates_to_the_log(folder: Path, papers: Papers) -> None:
    place, port = papers.folder, free_port()
    (folder / "clients.toml").write_text('[[customer]]\nname = "Car Ltd"\nparts = ["sum"]\nevaluations = 100\n')
    words = [
        "--cert",
        f"{place}/supplier.pem",
        "--key",
        f"{place}/supplier.key",
        "--authority",
        f"{place}/authority.pem",
    ]
    process = Process(folder / "state", port, *words, "--clients", "clients.toml", "--log", "log.jsonl")
    assert process.said == f"serving sum at 127.0.0.1:{port} (TLS); Ctrl-C ends it\n"
    with line(port, papers.customer("Car Ltd")) as asked:
        assert [asked.ask(frame) for frame in FRAMES[:9]] == undisturbed(FRAMES[:9])
    with pytest.raises(Refused, match="no customer"):
        line(port, papers.customer("Bus Ltd"))
    assert process.end(signal.SIGTERM) == (0, "")
    rows = [json.loads(row) for row in Path("log.jsonl").read_text().splitlines()]
    assert [row["what"] for row in rows] == ["started", "opened", "ended", "refused", "stopped"]
    assert (rows[2]["who"], rows[2]["part"], rows[2]["evaluations"]) == ("Car Ltd", "sum", 9)
    assert "no customer" in rows[3]["why"]
    assert json.loads((folder / "state" / "used.json").read_text()) == {"sum Car Ltd": 9}


def test_a_server_that_is_killed_has_not_forgotten_what_was_used(folder: Path, papers: Papers) -> None:
    place, port, state = papers.folder, free_port(), folder / "state"
    (folder / "clients.toml").write_text('[[customer]]\nname = "Car Ltd"\nparts = ["*"]\nevaluations = 300\n')
    words = [
        "--cert",
        f"{place}/supplier.pem",
        "--key",
        f"{place}/supplier.key",
        "--authority",
        f"{place}/authority.pem",
    ]
    process = Process(state, port, *words, "--clients", "clients.toml")
    with line(port, papers.customer("Car Ltd")) as asked:
        for frame in FRAMES[:9]:
            asked.ask(frame)
        process.kill()
    assert 9 <= json.loads((state / "used.json").read_text())["sum Car Ltd"] <= 12


def test_serving_ends_at_once_when_customers_are_there(folder: Path) -> None:
    process = Process(folder / "state", port := free_port())
    asked = line(port, patience=0.5)
    asked.ask(FRAMES[0])
    assert process.end(signal.SIGINT) == (0, "")
    asked.close()


def test_a_part_that_does_not_come_back_holds_nobody_up(folder: Path) -> None:
    process = Process(folder / "state", port := free_port(), name="stuck")
    asked = line(port, patience=0.5)
    asked.ask(FRAMES[0])
    with pytest.raises(LinkLost, match=r"no answer for 0\.[5-9] s"):
        asked.ask(FRAMES[1])
    code, told = process.end(signal.SIGTERM)
    assert (code, "still busy" in told) == (0, True)


OPENER = f"sum={PROGRAM}:opener"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([OPENER], "--cert, --key, --authority missing"),
        ([OPENER, "--cert", "a.pem", "--insecure-loopback"], "contradict"),
        ([OPENER, "--insecure-loopback", "--host", "0.0.0.0"], "only this machine is served"),
        ([OPENER, "--insecure-loopback", "--clients", "none.toml"], "none.toml: cannot be read"),
        ([OPENER, "--insecure-loopback", "--sessions", "0"], "too small"),
        ([OPENER, "--insecure-loopback", "--port", "99999"], "ports are numbers"),
        ([OPENER, OPENER, "--insecure-loopback"], "two parts are called 'sum'"),
        ([f"a b={PROGRAM}:opener", "--insecure-loopback"], "cannot be the name of a part"),
        ([f"{PROGRAM}", "--insecure-loopback"], "FILE.py:NAME"),
        ([f"{PROGRAM}:nothing", "--insecure-loopback"], "has no 'nothing'"),
        ([f"{PROGRAM}:STATE", "--insecure-loopback"], "is no function"),
    ],
)
def test_what_is_not_served(folder: Path, capsys: Capture, words: list[str], reason: str) -> None:
    assert main(["serve", *words]) in (1, 2)
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("customer = 1", r"\[\[customer\]\]"),
        ("[[customer]]\nname =", "is no TOML"),
        ('[[customer]]\nparts = ["sum"]', "a name or a fingerprint"),
        ('[[customer]]\nname = "A"', "parts are a list"),
        ('[[customer]]\nname = "A"\nparts = ["sun"]', "Did you mean 'sum'"),
        ('[[customer]]\nname = "A"\nparts = ["sum"]\nrates = 1', "Did you mean 'rate'"),
        ('[[customer]]\nname = "A"\nparts = ["sum"]\nrate = 0', "rate = 0"),
        ('[[customer]]\nname = "A"\nparts = ["sum"]\nevaluations = 1.5', "whole"),
        ('[[customer]]\nfingerprint = "12"\nparts = ["sum"]', "64 digits"),
        ('[[customer]]\nname = "A"\nparts = ["sum"]\n[other]\n', "nothing else"),
    ],
)
def test_lists_of_customers_that_are_wrong(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "clients.toml"
    path.write_text(text)
    with pytest.raises(RemoteError, match=reason):
        read_allowed(path, {"sum": None})


def test_a_list_of_customers(tmp_path: Path) -> None:
    path, mark = tmp_path / "clients.toml", "AB:" * 31 + "AB"
    path.write_text(f'[[customer]]\nfingerprint = "{mark}"\nparts = ["*"]\nrate = 9\nevaluations = 0\nsessions = 2\n')
    assert read_allowed(path, {}).grants == (Grant("", "ab" * 32, ("*",), 9.0, 0, 2),)
