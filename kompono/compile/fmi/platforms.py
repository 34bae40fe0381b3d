"""Systems an FMU can have code for, made on any of them; macOS is missing, for which we write no libraries yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kompono.errors import RunError, nearest


@dataclass(frozen=True)
class Platform:
    """A system and the level of its processors: LLVM's names, and its folder in FMUs of version 2 and 3."""

    name: str
    triple: str
    processor: str
    folders: tuple[str, str]
    suffix: str = ".so"

    @property
    def is_x86(self) -> bool:
        """Whether its processors are of that family."""
        return self.triple.startswith("x86_64")


_LINUX, _WINDOWS, _ARM = "x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc", "aarch64-unknown-linux-gnu"
PLATFORMS = {
    platform.name: platform
    for platform in (
        Platform("x86_64-linux", _LINUX, "x86-64", ("linux64", "x86_64-linux")),
        Platform("x86_64-windows", _WINDOWS, "x86-64", ("win64", "x86_64-windows"), ".dll"),
        Platform("aarch64-linux", _ARM, "generic", ("aarch64-linux", "aarch64-linux")),
        Platform("x86_64-linux-v3", _LINUX, "x86-64-v3", ("linux64", "x86_64-linux")),
        Platform("x86_64-windows-v3", _WINDOWS, "x86-64-v3", ("win64", "x86_64-windows"), ".dll"),
    )
}
USUAL = ("x86_64-linux", "x86_64-windows", "aarch64-linux")  # run on every processor of their kind


def chosen(names: Iterable[str] | None) -> list[Platform]:
    """Platforms by name, the usual ones for None."""
    given = [names] if isinstance(names, str) else list(USUAL if names is None else names)
    for name in given:
        if name not in PLATFORMS:
            missing = "Libraries for macOS cannot be made yet. " if "mac" in str(name) or "darwin" in str(name) else ""
            fix = f"{missing or nearest(str(name), PLATFORMS)} Known: {', '.join(PLATFORMS)}.".strip()
            raise RunError(f"there is no platform {name!r}.", fix=fix)
    found = {PLATFORMS[name].folders: PLATFORMS[name] for name in given}
    if len(found) < len(set(given)):
        raise RunError(
            "two platforms share a folder of the FMU.", fix="Choose one level of processors for each system."
        )
    if not found:
        raise RunError("an FMU without code cannot run.", fix=f"Known: {', '.join(PLATFORMS)}.")
    return list(found.values())
