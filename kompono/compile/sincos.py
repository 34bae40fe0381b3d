"""Sine and cosine on several lanes: no branches, no tables, no calls.

The argument is reduced to [-pi/4, pi/4] by subtracting n pi/2 with pi/2 in three doubles (Cody and Waite). With fused
multiply-add and a first part of 53 bits, x - n p1 is exact: it is a multiple of 2^-54 below 2. The second part is
subtracted in two doubles, so that the reduced argument is a head and a tail, good to 2^-100 relative to any |x| below
`LIMIT`. The polynomials and the way the tail enters are those of fdlibm (k_sin.c, k_cos.c, Sun Microsystems 1993),
error below 1 ulp. Sine and cosine of one argument share all of it: both are inlined, and equal instructions merge.

Beyond `LIMIT`, and for infinity, the result is NaN: a run on lanes that ends in NaN is repeated alone, where the C
library knows the sine of any number (see `kompono.solve.many`). Needs fused multiply-add in the processor.
"""

from __future__ import annotations

from kompono.compile import host
from kompono.compile.lanes import ONE, Lanes

NAMES = ("sin", "cos")
LIMIT = 2.0**30

_PIECES = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)  # of pi/2
_ROUND = 1.5 * 2.0**52  # adding it rounds to an integer, which then stands in the lowest bits
_SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
    -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05, -2.75573143513906633035e-07,
    2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


def available() -> bool:
    """Whether this processor can multiply and add in one rounding."""
    return host.fused()


class _Text:
    """Instructions on lanes, one by one; operands are names or numbers."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.lines: list[str] = []

    def let(self, text: str) -> str:
        self.lines.append(f"%t{len(self.lines)} = {text}")
        return f"%t{len(self.lines) - 1}"

    def spell(self, value: str | float) -> str:
        return value if isinstance(value, str) else self.lanes.constant(value)

    def op(self, name: str, *values: str | float) -> str:
        """fadd, fsub, fmul, fneg."""
        return self.let(f"{name} {self.lanes.real} {', '.join(map(self.spell, values))}")

    def fma(self, a: str | float, b: str | float, c: str | float) -> str:
        """a b + c, rounded once."""
        arguments = ", ".join(f"{self.lanes.real} {self.spell(v)}" for v in (a, b, c))
        return self.let(f"call {self.lanes.real} @llvm.fma.{self.lanes.suffix}({arguments})")

    def bits(self, name: str, a: str, b: int) -> str:
        """An operation on integers, the second operand a constant."""
        return self.let(f"{name} {self.lanes.integer} {a}, {self.lanes.all('i64', str(b))}")

    def polynomial(self, coefficients: tuple[float, ...], z: str) -> str:
        """c0 + c1 z + c2 z^2 + ..."""
        value: str | float = coefficients[-1]
        for c in coefficients[-2::-1]:
            value = self.fma(value, z, c)
        assert isinstance(value, str)
        return value


def define(name: str, lanes: Lanes) -> str:
    """The text of `kompono.sin.W` or `kompono.cos.W`."""
    text = _Text(lanes)
    x, rest, quarter = _reduce(text)
    z = text.op("fmul", x, x)
    sine, cosine = _sine(text, x, rest, z), _cosine(text, x, rest, z)
    real, integer = lanes.real, lanes.integer
    odd = text.let(f"icmp ne {integer} {text.bits('and', quarter, 1)}, {lanes.all('i64', '0')}")
    first, second = (cosine, sine) if name == "sin" else (sine, cosine)
    size = text.let(f"select {lanes.truth} {odd}, {real} {first}, {real} {second}")
    turned = quarter if name == "sin" else text.bits("add", quarter, 1)
    sign = text.bits("shl", text.bits("and", turned, 2), 62)
    signed = text.let(f"xor {integer} {text.let(f'bitcast {real} {size} to {integer}')}, {sign}")
    value = text.let(f"bitcast {integer} {signed} to {real}")
    head = f"define internal {real} @kompono.{name}.{lanes.count}({real} %x) alwaysinline nounwind memory(none) {{"
    return "\n".join([head, *text.lines, f"ret {real} {value}", "}"])


def anywhere(name: str, symbol: str) -> str:
    """The text of a function of any number: ours, and the C library's beyond `LIMIT`."""
    return "\n".join([
        f"define internal double @{symbol}(double %x) noinline nounwind willreturn memory(none) {{",
        "%size = call double @llvm.fabs.f64(double %x)", f"%near = fcmp ole double %size, {ONE.constant(LIMIT)}",
        "br i1 %near, label %here, label %far", "here:", f"%y = call double @kompono.{name}.1(double %x)",
        "ret double %y", "far:", f"%z = call double @llvm.{name}.f64(double %x)", "ret double %z", "}",
    ])  # fmt: skip


def together(symbol: str, lanes: Lanes) -> str:
    """The text of a function of (angles, sines and behind them cosines, their number, a multiple of the lanes)."""
    real, count = lanes.real, lanes.count
    lines = [
        f"define internal void @{symbol}(ptr noalias readonly %angles, ptr noalias %sines, i64 %count) "
        f"{lanes.stack}noinline nounwind {{",
        "start:", "%cosines = getelementptr double, ptr %sines, i64 %count", "br label %next", "next:",
        "%k = phi i64 [0, %start], [%k1, %done]", "%at = getelementptr double, ptr %angles, i64 %k",
        "%s.at = getelementptr double, ptr %sines, i64 %k", "%c.at = getelementptr double, ptr %cosines, i64 %k",
        f"%x = load {real}, ptr %at{lanes.aligned}", f"%size = call {real} @llvm.fabs.{lanes.suffix}({real} %x)",
        f"%near = fcmp ole {real} %size, {lanes.constant(LIMIT)}", f"%bits = bitcast {lanes.truth} %near to i{count}",
        f"%all = icmp eq i{count} %bits, -1", "br i1 %all, label %here, label %far", "here:",
    ]  # fmt: skip
    for name, place in (("sin", "%s.at"), ("cos", "%c.at")):
        lines.append(f"%{name} = call {real} @kompono.{name}.{count}({real} %x)")
        lines.append(f"store {real} %{name}, ptr {place}{lanes.aligned}")
    lines += ["br label %done", "far:"]
    for k in range(count):
        lines.append(f"%x{k} = extractelement {real} %x, i64 {k}")
        for name, place in (("sin", "%s.at"), ("cos", "%c.at")):
            lines.append(f"%{name}{k} = call double @kompono.{name}.any(double %x{k})")
            lines.append(f"%{name}{k}.at = getelementptr double, ptr {place}, i64 {k}")
            lines.append(f"store double %{name}{k}, ptr %{name}{k}.at")
    lines += [
        "br label %done", "done:", f"%k1 = add i64 %k, {count}", "%more = icmp ult i64 %k1, %count",
        "br i1 %more, label %next, label %end", "end:", "ret void", "}",
    ]  # fmt: skip
    return "\n".join(lines)


def _reduce(text: _Text) -> tuple[str, str, str]:
    """x - n pi/2 as head and tail, and n in the lowest bits of an integer."""
    lanes = text.lanes
    size = text.let(f"call {lanes.real} @llvm.fabs.{lanes.suffix}({lanes.real} %x)")
    near = text.let(f"fcmp ole {lanes.real} {size}, {lanes.constant(LIMIT)}")
    x = text.let(f"select {lanes.truth} {near}, {lanes.real} %x, {lanes.real} {lanes.constant(float('nan'))}")
    shifted = text.fma(x, 0.6366197723675814, _ROUND)
    n = text.op("fsub", shifted, _ROUND)
    minus = text.op("fneg", n)
    head = text.fma(minus, _PIECES[0], x)
    product = text.op("fmul", n, _PIECES[1])
    error = text.fma(n, _PIECES[1], text.op("fneg", product))
    reduced = text.op("fsub", head, product)
    lost = text.op("fsub", text.op("fsub", head, reduced), product)
    tail = text.op("fsub", lost, text.fma(n, _PIECES[2], error))
    return reduced, tail, text.let(f"bitcast {lanes.real} {shifted} to {lanes.integer}")


def _sine(text: _Text, x: str, rest: str, z: str) -> str:
    """x - ((z (rest/2 - v r) - rest) - v S1) with v = x z."""
    v = text.op("fmul", z, x)
    r = text.polynomial(_SIN[1:], z)
    minus = text.op("fneg", v)
    inner = text.fma(minus, r, text.op("fmul", rest, 0.5))
    middle = text.fma(z, inner, text.op("fneg", rest))
    return text.op("fsub", x, text.fma(minus, _SIN[0], middle))


def _cosine(text: _Text, x: str, rest: str, z: str) -> str:
    """w + (((1 - w) - z/2) + (z^2 r - x rest)) with w = 1 - z/2."""
    half = text.op("fmul", z, 0.5)
    w = text.op("fsub", 1.0, half)
    lost = text.op("fsub", text.op("fsub", 1.0, w), half)
    r = text.op("fmul", z, text.polynomial(_COS, z))
    small = text.fma(z, r, text.op("fneg", text.op("fmul", x, rest)))
    return text.op("fadd", w, text.op("fadd", lost, small))
