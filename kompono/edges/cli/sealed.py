"""What a sealed file shows of itself, as text."""

from __future__ import annotations

from collections.abc import Iterable

from kompono.errors import SealedError
from kompono.sealed import SealedFile, read_sealed, trust
from kompono.sealed.shape import Quantity, Shape

SUFFIX = ".part"


def described(path: str) -> str:
    """Author, fingerprint, targets and shape of a file, which need not be trusted for that: no code of it is run."""
    return text_of(read_sealed(path))


def text_of(file: SealedFile) -> str:
    """The same of a file that was read."""
    manifest, shape = file.manifest, file.manifest.shape
    lanes = {name: ", ".join(map(str, widths)) for name, widths in manifest.targets.items()}
    rows = [
        ("sealed part", f"{shape.name} ({file.path})"),
        ("author", f"{manifest.author}, {_trusted(file)}"),
        ("fingerprint", file.fingerprint),
        ("sealed with", f"Kompono {manifest.kompono}"),
        ("code for", "; ".join(f"{name} (lanes {widths})" for name, widths in lanes.items())),
        ("numbers", _numbers(file)),
        *_shape_rows(shape),
    ]
    return "\n".join(f"{name + ':':14}{value}" for name, value in rows)


def _trusted(file: SealedFile) -> str:
    try:
        trust.check(file.manifest.key, file.manifest.author, file.path)
    except SealedError:
        return "not trusted"
    return "trusted"


def _numbers(file: SealedFile) -> str:
    manifest = file.manifest
    if not manifest.recipients:
        return f"{manifest.numbers}, readable in the file"
    return f"{manifest.numbers}, locked for {', '.join(manifest.recipients)}"


def _shape_rows(shape: Shape) -> Iterable[tuple[str, str]]:
    joined = [variant for variant in shape.in_joints.variants if not variant.flying]
    bases = [variant.base or "(stands on its own ground)" for variant in joined]
    yield "ports", ", ".join(port.name for port in shape.ports) or "none"
    if shape.pins:
        yield (
            "pins",
            ", ".join(f"{name} ({pin.across[1]}, {pin.through[1]})" for pin in shape.pins for name in pin.names),
        )
    yield "entered by", ", ".join(bases)
    yield "states", ", ".join(str(variant.size) for variant in joined)
    yield "parameters", _listed(shape.parameters)
    yield "inputs", _listed(shape.inputs)
    yield "outputs", ", ".join(shape.outputs) or "none"
    yield "channels", f"{len(shape.channels)}: {', '.join(channel.name for channel in shape.channels)}"
    yield "events", str(shape.events)
    yield "pictures", ", ".join(shape.pictures) or "none"


def _listed(quantities: tuple[Quantity, ...]) -> str:
    return ", ".join(f"{q.name} = {q.default:g}{f' {q.unit}' if q.unit else ''}" for q in quantities) or "none"
