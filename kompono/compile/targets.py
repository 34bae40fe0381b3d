"""Processors and systems that code of sealed parts is made for, from any machine, and which of them this machine is.

A target is a system with a level of its processors, so that one file serves many machines: `x86_64-linux-v3` runs on
every processor with AVX2 and fused multiply-add (since 2013), `x86_64-linux` on all of that kind.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from kompono.compile import assembler
from kompono.compile.walls.module import module
from kompono.errors import CompileError, nearest

_LEVEL_3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")  # what x86-64-v3 adds


@dataclass(frozen=True)
class Target:
    """A system and its processors: LLVM's names, features they must have, and the lanes worth having code for."""

    name: str
    triple: str
    processor: str
    needs: tuple[str, ...] = ()
    lanes: tuple[int, ...] = (1,)


TARGETS = {
    target.name: target
    for target in (
        Target("x86_64-linux-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", _LEVEL_3, (1, 4)),
        Target("x86_64-linux", "x86_64-unknown-linux-gnu", "x86-64"),
        Target("aarch64-linux", "aarch64-unknown-linux-gnu", "generic"),
        Target("x86_64-windows-v3", "x86_64-pc-windows-msvc", "x86-64-v3", _LEVEL_3, (1, 4)),
        Target("arm64-macos", "arm64-apple-macosx11.0.0", "apple-m1"),
        Target("wasm32", "wasm32-unknown-unknown", "generic"),
    )
}
WASM = "wasm32"  # runs on every machine, in wasmtime


def chosen(names: Iterable[str] | None) -> list[Target]:
    """Targets by name; all for None."""
    if isinstance(names, str):
        names = [names]
    names = list(TARGETS if names is None else names)
    for name in names:
        if name not in TARGETS:
            known = f"Known: {', '.join(TARGETS)}."
            raise CompileError(f"there is no target {name!r}.", fix=f"{nearest(name, TARGETS)} {known}".strip())
    if not names:
        raise CompileError("code for no target is no code.", fix=f"Known: {', '.join(TARGETS)}.")
    return [TARGETS[name] for name in dict.fromkeys(names)]


def system(triple: str) -> str:
    """Processor family and system of a triple, `x86_64-linux`: machines alike in both load the same objects."""
    family = triple.partition("-")[0]
    family = {"amd64": "x86_64", "arm64": "aarch64"}.get(family, family)
    names = {"linux": "linux", "windows": "windows", "win32": "windows", "apple": "macos", "darwin": "macos"}
    return f"{family}-{next((word for part, word in names.items() if part in triple), 'unknown')}"


def here() -> str:
    """What this machine is."""
    return system(llvm.get_process_triple())


def fitting(names: Iterable[str]) -> str | None:
    """The best of some targets for this machine, if one fits."""
    features = llvm.get_host_cpu_features()
    fit = [
        target
        for target in (TARGETS[name] for name in names if name in TARGETS)
        if system(target.triple) == here() and all(features.get(need, False) for need in target.needs)
    ]
    return max(fit, key=lambda target: len(target.needs)).name if fit else None


@functools.cache
def _machine(target: Target) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    found = llvm.Target.from_triple(target.triple)
    if target.name == WASM:
        return found.create_target_machine(cpu=target.processor, features="+bulk-memory", opt=2, reloc="static")
    return found.create_target_machine(cpu=target.processor, opt=2, reloc="pic", codemodel="small", jit=True)


def machine_of(name: str) -> Any:
    """What makes code for a target."""
    return _machine(TARGETS[name])


def assemble(text: str, target: Target, symbols: Iterable[str] = ()) -> bytes:
    """Code of a straight-line text for a target: an object, or a module with these functions for others to call."""
    try:
        made = assembler.emit(text, _machine(target), loops=False)
        return module(made, symbols) if target.name == WASM else made
    except RuntimeError as error:
        raise CompileError(f"no code for {target.name} could be made: {error}") from error
