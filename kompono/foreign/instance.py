"""One instance of an FMU, initialized: for model exchange in continuous time, for co-simulation ready to step."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kompono.errors import ModelError, RunError
from kompono.foreign.archive import Unpacked
from kompono.foreign.library import is_whole
from kompono.foreign.package import fmpy, same_folder
from kompono.foreign.told import Told

_FOLDERS = {2: "platform", 3: "platform_tuple"}  # names FMPy knows this machine by
NEEDED = {
    (2, "me"): ("SetTime", "SetContinuousStates", "GetDerivatives", "SetReal", "GetReal", "NewDiscreteStates"),
    (2, "cs"): ("SetReal", "GetReal", "DoStep"),
    (3, "me"): (
        "SetTime", "SetContinuousStates", "GetContinuousStateDerivatives", "SetFloat64", "GetFloat64",
        "UpdateDiscreteStates",
    ),
    (3, "cs"): ("SetFloat64", "GetFloat64", "DoStep"),
}  # fmt: skip
NEVER = 1e9  # the time of an event that does not come [s]: thirty years
_ALWAYS = ("EnterInitializationMode", "ExitInitializationMode", "FreeInstance")


class Instance:
    """An FMU of one kind ("me", "cs") with its parameters set, at time 0."""

    next_event = NEVER

    def __init__(self, unpacked: Unpacked, told: Told, kind: str, values: Mapping[str, float]) -> None:
        self.unpacked, self.told, self.kind, self.values = unpacked, told, kind, dict(values)
        self.file = self._library()
        self._check_functions()
        self._fmu: Any = None
        self.begin()

    def _library(self) -> Path:
        told, module = self.told, fmpy()
        folders = dict.fromkeys((getattr(module, _FOLDERS[told.version]), module.platform_tuple))
        name = f"{told.libraries[self.kind]}{module.sharedLibraryExtension}"
        for folder in folders:
            file = self.unpacked.folder / "binaries" / folder / name
            if file.is_file():
                return file
        there = sorted(
            {m.split("/")[1] for m in self.unpacked.members if m.startswith("binaries/") and m.count("/") > 1}
        )
        raise ModelError(
            f"it has no code for this machine ({next(iter(folders))}), only for {', '.join(there) or 'none'}.",
            path=told.path, fix="Ask its author to export it for this platform.",
        )  # fmt: skip

    def _check_functions(self) -> None:
        try:
            if not is_whole(self.file):
                raise OSError("it is cut off")
            library = ctypes.CDLL(str(self.file))
        except OSError as error:
            raise ModelError(
                f"its library does not load ({str(error)[-160:]}).", path=self.told.path, fix="Ask its author."
            ) from error
        version = self.told.version
        needed = [f"fmi{version}{name}" for name in (*_ALWAYS, *NEEDED[version, self.kind])]
        missing = [name for name in needed if not hasattr(library, name)]
        if missing:
            raise ModelError(
                f"its library lacks the function {missing[0]}.", path=self.told.path, fix="Ask its author."
            )

    def begin(self) -> None:
        """Make the instance anew, at time 0."""
        self.end()
        told, version = self.told, self.told.version
        names = {"me": "Model", "cs": "Slave"}
        kind = getattr(fmpy(f"fmi{version}"), f"FMU{version}{names[self.kind]}")
        try:
            with same_folder():
                made = kind(
                    guid=told.token, unzipDirectory=str(self.unpacked.folder),
                    modelIdentifier=told.libraries[self.kind],
                    instanceName=Path(told.path).stem, libraryPath=str(self.file),
                )  # fmt: skip
                made.instantiate()
            self._fmu = made
            self._initialize(made)
        except (ModelError, RunError):
            raise
        except Exception as error:
            why = f"it cannot be started ({type(error).__name__}: {str(error)[:160]})."
            raise ModelError(why, path=told.path, fix="Try it with `fmpy simulate`.") from error

    def _initialize(self, fmu: Any) -> None:
        by_name = {v.name: v.reference for v in (*self.told.parameters, *self.told.inputs, *self.told.states)}
        given = [(by_name[name], value) for name, value in self.values.items()]
        if given:
            self.write([reference for reference, _ in given], [value for _, value in given])
        if self.told.version == 2:
            fmu.setupExperiment(startTime=0.0)
            fmu.enterInitializationMode()
        else:
            fmu.enterInitializationMode(startTime=0.0)
        fmu.exitInitializationMode()
        if self.kind == "me":
            self.next_event = self.settle()
            fmu.enterContinuousTimeMode()

    def settle(self) -> float:
        """Iterate an event until nothing changes any more; the time of the next event the FMU knows of."""
        fmu = self._fmu
        step = fmu.newDiscreteStates if self.told.version == 2 else fmu.updateDiscreteStates
        for _ in range(100):
            again, ends, _, _, timed, when = step()
            if ends:
                raise RunError("the FMU ends the simulation.", path=self.told.path)
            if not again:
                return float(when) if timed else NEVER
        raise RunError("one event of the FMU causes the next, without end.", path=self.told.path)

    # -- values

    def write(self, references: Sequence[int], values: Sequence[float]) -> None:
        """Set real variables."""
        setter = self._fmu.setReal if self.told.version == 2 else self._fmu.setFloat64
        setter(list(references), [float(value) for value in values])

    def read(self, references: Sequence[int]) -> np.ndarray:
        """Values of real variables."""
        getter = self._fmu.getReal if self.told.version == 2 else self._fmu.getFloat64
        return np.array(getter(list(references)), dtype=float) if references else np.zeros(0)

    def step(self, time: float, size: float) -> None:
        """One step of co-simulation [s]."""
        try:
            self._fmu.doStep(currentCommunicationPoint=time, communicationStepSize=size)
        except Exception as error:
            raise RunError(f"the FMU failed in its step from {time:g} s: {error}", path=self.told.path) from error

    @cached_property
    def _dll(self) -> Any:
        return ctypes.CDLL(str(self.file))

    def address(self, name: str) -> int:
        """The address of one of its functions, `SetTime`."""
        function = getattr(self._dll, f"fmi{self.told.version}{name}")
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    @property
    def handle(self) -> int:
        """What its functions know it by."""
        component = self._fmu.component
        return int(getattr(component, "value", component) or 0)

    def end(self) -> None:
        """Free it."""
        fmu, self._fmu = getattr(self, "_fmu", None), None
        if fmu is not None:
            try:
                with same_folder():
                    fmu.freeInstance()
            except Exception:  # a stranger's code may fail even at that
                return
