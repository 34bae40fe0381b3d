"""A model as the library of an FMU: the functions of FMI 2 or 3 around its routines and Kompono's own step loop, as
LLVM text, assembled for any platform and linked here. No compiler for C and no linker is needed.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import llvmlite.binding as llvm

from kompono.compile import assembler, host, schedule
from kompono.compile.block import loop_routines
from kompono.compile.emit import prelude
from kompono.compile.fmi.common import DECLARATIONS, common_functions
from kompono.compile.fmi.exported import NOMINAL, exported_functions
from kompono.compile.fmi.inner import inner_functions
from kompono.compile.fmi.instance import FmuModel
from kompono.compile.fmi.instances import instance_functions
from kompono.compile.fmi.platforms import PLATFORMS, USUAL, Platform, chosen
from kompono.compile.fmi.tangent import PULL, sensitive
from kompono.compile.lanes import ONE
from kompono.compile.linker import elf_library, pe_library
from kompono.errors import CompileError

__all__ = ["NOMINAL", "PLATFORMS", "PULL", "USUAL", "FmuCode", "FmuModel", "Platform", "chosen", "sensitive"]

_OURS = re.compile(r"^define (void|i64) @kompono\.", re.MULTILINE)
_VERSIONS = {2: "2.0", 3: "3.0"}


class FmuCode:
    """The functions of FMI of one version around a model, from which libraries are made."""

    def __init__(self, model: FmuModel, version: int) -> None:
        self.model, self.version = model, version
        self._exported = exported_functions(model, version)

    @functools.cached_property
    def _routines(self) -> str:
        """The model's own part of the text, the same for all platforms."""
        program, model = self.model.program, self.model
        extra = [model.outputs, *([model.tangent] if model.tangent else [])]
        routines = {routine.name: routine for routine in (*loop_routines(program), *extra)}
        return schedule.define(program, routines.values(), ONE)

    def library(self, platform: Platform, name: str) -> bytes:
        """The library `name` for a platform."""
        text = self._text(platform.is_x86 and host.slow_near_zero())
        try:
            made = assembler.emit(f'target triple = "{platform.triple}"\n{text}', _machine(platform), loops=True)
        except RuntimeError as error:
            raise CompileError(f"no code for {platform.name} could be made: {error}") from error
        link = pe_library if platform.suffix == ".dll" else elf_library
        return link(made, name, self._exported)

    def _text(self, flush: bool) -> str:
        """Everything as one module, of which only the exported functions can be seen."""
        model = self.model
        body = _OURS.sub(r"define internal \1 @kompono.", self._routines + inner_functions(model, flush=flush))
        body += common_functions(model) + instance_functions(model, self.version) + "".join(self._exported.values())
        words = f'@kompono.fmi.version = private constant [4 x i8] c"{_VERSIONS[self.version]}\\00"\n'
        words += '@kompono.fmi.platform = private constant [8 x i8] c"default\\00"\n'
        return prelude(body, ONE) + DECLARATIONS + words + body


@functools.cache
def _machine(platform: Platform) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(platform.triple)
    return target.create_target_machine(cpu=platform.processor, opt=2, reloc="pic", codemodel="small")
