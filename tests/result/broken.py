"""Files that are not what they were: cut at every place, with bits turned, or not files of results at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from kompono.result import Result, Status

FORMATS = {"csv": Result.to_csv, "parquet": Result.to_parquet, "h5": Result.to_hdf5}


def small(rows: int = 4, *, ok: bool = True) -> Result:
    """A result of a few rows, with all that a file keeps."""
    time = 0.1 * np.arange(rows)
    table = np.column_stack([np.cos(time), np.sin(time) / 3])
    status = Status(ok, "" if ok else "the spring broke", float(time[-1]))
    units = {"pin.angle": "rad", "pin.rate": "rad/s"}
    return Result(
        time, ["pin.angle", "pin.rate"], table, units=units, status=status, statistics={"steps": 3}, model="Swing"
    )


def written(folder: Path, suffix: str, result: Result | None = None) -> bytes:
    """The bytes of a result in a file."""
    path = folder / f"good.{suffix}"
    FORMATS[suffix](result or small(), path)
    return path.read_bytes()


def cuts(data: bytes, most: int) -> Iterator[tuple[str, bytes]]:
    """The file cut off at every place, or at so many."""
    for end in sorted({*np.linspace(0, len(data) - 1, min(most, len(data))).astype(int).tolist(), *_ends(data)}):
        yield f"cut at {end}", data[:end]


def _ends(data: bytes) -> list[int]:
    """Places just behind and before line ends, where a cut is hardest to see."""
    found = [i for i in range(len(data)) if data[i : i + 1] == b"\n"][:200]
    return [k for i in found for k in (i, i + 1) if k < len(data)]


def flips(data: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """The file with one bit turned, each time another one."""
    random = np.random.default_rng(seed)
    for place in random.choice(8 * len(data), size=min(count, 8 * len(data)), replace=False).tolist():
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        yield f"bit {place % 8} of byte {place // 8}", bytes(changed)


def smears(data: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """The file with a stretch overwritten, doubled or taken out."""
    random = np.random.default_rng(seed)
    for k in range(count):
        start, end = sorted(random.integers(0, len(data), 2).tolist())
        middle = (bytes(end - start), random.bytes(end - start), data[start:end] * 2, b"")[k % 4]
        if data[:start] + middle + data[end:] != data:
            yield f"smear {k % 4} from {start} to {end}", data[:start] + middle + data[end:]


def strange(folder: Path) -> Iterator[Path]:
    """Things with the suffix of a result that are none."""
    for suffix in FORMATS:
        yield from _strange(folder, suffix)
    yield from _tables(folder)
    yield from _hdf5(folder)
    yield from _parquet(folder)


def _strange(folder: Path, suffix: str) -> Iterator[Path]:
    contents = {
        "empty": b"", "newline": b"\n", "zeros": bytes(4096), "text": b"hello\n", "noise": os.urandom(2000),
        "json": b'{"time": [1]}', "deep": b"[" * 100_000, "nul": b"time,a\x00b\n1,2\n", "latin": b"time,\xe4\n1,2\n",
        "wide": b"time," + b"x" * 200_000 + b"\n1,2\n",
    }  # fmt: skip
    for name, content in contents.items():
        path = folder / f"{name}.{suffix}"
        path.write_bytes(content)
        yield path
    for other in FORMATS:
        if other != suffix:
            path = folder / f"really-{other}.{suffix}"
            path.write_bytes(written(folder, other))
            yield path
    (folder / f"folder.{suffix}").mkdir()
    yield folder / f"folder.{suffix}"
    os.mkfifo(folder / f"pipe.{suffix}")
    yield folder / f"pipe.{suffix}"
    os.symlink(f"loop.{suffix}", folder / f"loop.{suffix}")
    yield folder / f"loop.{suffix}"
    os.symlink("/dev/zero", folder / f"endless.{suffix}")
    yield folder / f"endless.{suffix}"
    yield folder / f"missing.{suffix}"
    yield folder / f"{'n' * 300}.{suffix}"


def _tables(folder: Path) -> Iterator[Path]:
    contents = {
        "other": "x,y\n1,2\n", "words": "time,y\n1,two\n", "short": "time,y\n1,2\n1\n", "long": "time,y\n1,2,3,4\n",
        "twins": "time,y,y\n1,2,3\n", "times": "time,time\n1,2\n", "under": "time,y\n1_0,2\n", "gap": "time,y\n1,\n",
        "remark": "time,y\n1,2\n# so much\n3,4\n", "quote": 'time,"y\n1,2\n', "half": "time,y\n1,2\n3,4",
    }  # fmt: skip
    for name, content in contents.items():
        path = folder / f"table-{name}.csv"
        path.write_text(content)
        yield path


def _hdf5(folder: Path) -> Iterator[Path]:
    def made(name: str, **changes: object) -> Path:
        path = folder / f"{name}.h5"
        with h5py.File(path, "w") as file:
            parts: dict[str, object] = {"time": [0.0], "values": [[1.0]], "names": ["a"], "notes": "{}"}
            for part, value in {**parts, **changes}.items():
                if callable(value):
                    value(file, part)
                elif value is not None:
                    file[part] = value
        return path

    with h5py.File(folder / "elsewhere.h5", "w") as file:
        file["time"] = [0.0]
    np.zeros(1).tofile(folder / "raw.bin")
    status = {"ok": "yes", "message": 3, "time": None}
    yield made("no-values", values=None)
    yield made("soft", values=h5py.SoftLink("/names"))
    yield made("external-link", time=h5py.ExternalLink("elsewhere.h5", "/time"))
    yield made("external-storage", time=lambda f, n: f.create_dataset(n, (1,), "f8", external=[("raw.bin", 0, 8)]))
    layout = h5py.VirtualLayout((1,), "f8")
    layout[:] = h5py.VirtualSource(str(folder / "elsewhere.h5"), "time", shape=(1,))
    yield made("virtual", time=lambda f, n: f.create_virtual_dataset(n, layout))
    yield made("huge", values=lambda f, n: f.create_dataset(n, (1 << 40, 1), "f8", chunks=(1024, 1)))
    huge = {"chunks": (1 << 20,), "compression": "gzip"}
    yield made("huge-time", time=lambda f, n: f.create_dataset(n, (1 << 44,), "f8", **huge))
    yield made("group", values=lambda f, n: f.create_group(n))
    yield made("text-values", values=[["a"]])
    yield made("complex", values=[[1j]])
    yield made("number-names", names=[3])
    yield made("number-notes", notes=3.0)
    yield made("list-notes", notes="[1]")
    yield made("wrong-notes", notes='{"colour": 1}')
    yield made("wrong-units", notes='{"units": [1]}')
    yield made("wrong-status", notes=json.dumps({"status": status}))
    yield made("deep-notes", notes="[" * 100_000)
    yield made("shapes", values=[1.0, 2.0])
    yield made("uneven", time=[0.0, 1.0])
    yield made("twin-names", values=[[1.0, 2.0]], names=["a", "a"])


def _parquet(folder: Path) -> Iterator[Path]:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    for name, columns in {
        "first": {"x": [1.0]}, "words": {"time": ["a"]}, "nested": {"time": [[1.0]]}, "none": {"time": [None]},
    }.items():  # fmt: skip
        path = folder / f"columns-{name}.parquet"
        parquet.write_table(arrow.table(columns), path)
        yield path
    twins = arrow.Table.from_arrays([arrow.array([1.0])] * 3, names=["time", "a", "a"])
    for name, table in {
        "twins": twins,
        "notes": arrow.table({"time": [1.0]}).replace_schema_metadata({"kompono": "[1"}),
        "many": arrow.table({"time": arrow.array(np.zeros(3_000_000))}),
    }.items():
        parquet.write_table(table, folder / f"{name}.parquet")
        yield folder / f"{name}.parquet"
