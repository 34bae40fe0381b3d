"""The processor native code is made for."""

from __future__ import annotations

import functools
import os

import llvmlite
import llvmlite.binding as llvm


@functools.cache
def description() -> tuple[str, ...]:
    """What machine code depends on besides its source: versions, triple, processor, its features."""
    version = ".".join(map(str, llvm.llvm_version_info))
    features = llvm.get_host_cpu_features().flatten()
    return llvmlite.__version__, version, llvm.get_process_triple(), llvm.get_host_cpu_name(), features


@functools.cache
def _has(feature: str) -> bool:
    return bool(llvm.get_host_cpu_features().get(feature, False))


def _arm() -> bool:
    return llvm.get_process_triple().startswith(("aarch64", "arm64"))


def fused() -> bool:
    """Whether it multiplies and adds in one instruction."""
    return _arm() or _has("fma")


def slow_near_zero() -> bool:
    """Whether numbers below 2.2e-308 cost a hundred times more than others (on x86; not on ARM)."""
    return llvm.get_process_triple().startswith(("x86", "i386", "i686", "amd64"))


def lanes() -> int:
    """Doubles in its widest register: 8 with AVX-512, 4 with AVX, 2 with SSE2 or NEON."""
    return 8 if _has("avx512f") else 4 if _has("avx") else 2


def processors() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
