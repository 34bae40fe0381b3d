"""`modelDescription.xml` of FMI 2 and 3."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from kompono.edges.fmu.units import BASE, base_units
from kompono.edges.fmu.variables import Variable, Variables

_COMMON = {"canGetAndSetFMU{}": "true", "canSerializeFMU{}": "true"}


@dataclass(frozen=True)
class Facts:
    """What the description says besides variables."""

    name: str
    identifier: str
    token: str
    tool: str
    kinds: tuple[str, ...]
    differentiable: bool
    until: float
    step: float
    tolerance: float
    about: str = ""


def description(version: int, facts: Facts, variables: Variables) -> bytes:
    """The file."""
    root = Element("fmiModelDescription", {"fmiVersion": f"{version}.0", "modelName": facts.name})
    root.set("guid" if version == 2 else "instantiationToken", facts.token)
    if facts.about:
        root.set("description", facts.about)
    root.set("generationTool", facts.tool)
    root.set("variableNamingConvention", variables.naming)
    if version == 2:
        root.set("numberOfEventIndicators", str(len(variables.indicators)))
    _interfaces(root, version, facts)
    _units(root, variables)
    SubElement(SubElement(root, "LogCategories"), "Category", {"name": "logStatusError"})
    times = {"startTime": 0.0, "stopTime": facts.until, "tolerance": facts.tolerance, "stepSize": facts.step}
    SubElement(root, "DefaultExperiment", {name: repr(float(value)) for name, value in times.items()})
    listed = SubElement(root, "ModelVariables")
    (_variables2 if version == 2 else _variables3)(listed, variables)
    structure = SubElement(root, "ModelStructure")
    (_structure2 if version == 2 else _structure3)(structure, variables)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _interfaces(root: Element, version: int, facts: Facts) -> None:
    state = "state" if version == 2 else "State"
    common = {name.format(state): value for name, value in _COMMON.items()}
    common = {"modelIdentifier": facts.identifier, **common}
    told = "providesDirectionalDerivative" if version == 2 else "providesDirectionalDerivatives"
    common[told] = str(facts.differentiable).lower()
    if version == 2:
        common["canNotUseMemoryManagementFunctions"] = "true"
    if "me" in facts.kinds:
        SubElement(root, "ModelExchange", common)
    if "cs" in facts.kinds:
        more = {"canHandleVariableCommunicationStepSize": "true"}
        if version == 3:
            more["fixedInternalStepSize"] = repr(facts.step)
        SubElement(root, "CoSimulation", {**common, **more})


def _units(root: Element, variables: Variables) -> None:
    names = sorted({variable.unit for variable in variables.all if variable.unit})
    if not names:
        return
    listed = SubElement(root, "UnitDefinitions")
    for name in names:
        unit, known = SubElement(listed, "Unit", {"name": name}), base_units(name)
        if known is not None:
            factor, powers = known
            base = SubElement(unit, "BaseUnit", {base: str(powers[base]) for base in BASE if base in powers})
            if factor != 1.0:
                base.set("factor", repr(factor))


def _number(value: float) -> str:
    return repr(float(value))


def _variables2(listed: Element, variables: Variables) -> None:
    index = {variable.reference: k for k, variable in enumerate(variables.all, 1)}
    for variable in variables.all:
        about = {"name": variable.name, "valueReference": str(variable.reference)}
        about |= {"description": variable.about} if variable.about else {}
        about |= {"causality": variable.causality, "variability": variable.variability}
        about |= {"initial": variable.initial} if variable.initial else {}
        real = SubElement(SubElement(listed, "ScalarVariable", about), "Real")
        for name, value in _real(variable).items():
            real.set(name, value)
        if variable.derivative_of is not None:
            real.set("derivative", str(index[variable.derivative_of]))


def _variables3(listed: Element, variables: Variables) -> None:
    for variable in variables.all:
        about = {"name": variable.name, "valueReference": str(variable.reference)}
        about |= {"description": variable.about} if variable.about else {}
        about |= {"causality": variable.causality, "variability": variable.variability}
        about |= {"initial": variable.initial} if variable.initial else {}
        about |= _real(variable)
        if variable.derivative_of is not None:
            about["derivative"] = str(variable.derivative_of)
        SubElement(listed, "Float64", about)


def _real(variable: Variable) -> dict[str, str]:
    found = {"unit": variable.unit} if variable.unit else {}
    found |= {} if variable.nominal is None else {"nominal": _number(variable.nominal)}
    return found | ({} if variable.start is None else {"start": _number(variable.start)})


def _structure2(structure: Element, variables: Variables) -> None:
    index = {variable.reference: k for k, variable in enumerate(variables.all, 1)}

    def unknowns(name: str, members: Iterable[Variable], told: bool = True) -> None:
        members = list(members)
        listed = SubElement(structure, name) if members else structure
        for variable in members:
            one = SubElement(listed, "Unknown", {"index": str(index[variable.reference])})
            if told and (depends := _depends(variable)) is not None:
                one.set("dependencies", " ".join(str(index[reference]) for reference in depends))

    unknowns("Outputs", variables.results)
    unknowns("Derivatives", variables.rates)
    unknowns("InitialUnknowns", sorted([*variables.rates, *variables.outputs], key=lambda v: index[v.reference]), False)


def _structure3(structure: Element, variables: Variables) -> None:
    def unknowns(name: str, members: Iterable[Variable], told: bool = True) -> None:
        for variable in members:
            one = SubElement(structure, name, {"valueReference": str(variable.reference)})
            if told and (depends := _depends(variable)) is not None:
                one.set("dependencies", " ".join(map(str, depends)))

    unknowns("Output", variables.results)
    unknowns("ContinuousStateDerivative", variables.rates)
    unknowns("InitialUnknown", [*variables.rates, *variables.outputs], False)
    unknowns("EventIndicator", variables.indicators)


def _depends(variable: Variable) -> list[int] | None:
    """What a variable depends on; a state that is an output, on itself."""
    if variable.initial == "exact":
        return [variable.reference]
    return None if variable.depends is None else list(variable.depends)
