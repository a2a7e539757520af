"""Binary floating point with exact rationals: what IEEE 754 and the ISA manuals say, independent of the interpreter.

In: bits as integers and a format. Out: bits. Called by model/. A NaN result is `NAN`: the manuals do not define its
payload.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    """One binary format."""

    exponent_bits: int
    mantissa_bits: int

    @property
    def width(self) -> int:
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits

    @property
    def sign_bit(self) -> int:
        return 1 << (self.width - 1)

    @property
    def quiet_bit(self) -> int:
        return 1 << (self.mantissa_bits - 1)


F16 = Format(5, 10)
BF16 = Format(8, 7)
F32 = Format(8, 23)
F64 = Format(11, 52)
FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}

NAN = -1
"""Any quiet NaN."""


def is_nan(f: Format, bits: int) -> bool:
    return bits == NAN or (bits & (f.sign_bit - 1)) > f.infinity


def is_snan(f: Format, bits: int) -> bool:
    return bits != NAN and is_nan(f, bits) and not bits & f.quiet_bit


def is_inf(f: Format, bits: int) -> bool:
    return bits != NAN and (bits & (f.sign_bit - 1)) == f.infinity


def is_zero(f: Format, bits: int) -> bool:
    return bits != NAN and not bits & (f.sign_bit - 1)


def is_denormal(f: Format, bits: int) -> bool:
    return bits != NAN and 0 < (bits & (f.sign_bit - 1)) < (1 << f.mantissa_bits)


def negative(f: Format, bits: int) -> bool:
    return bool(bits & f.sign_bit)


def value(f: Format, bits: int) -> Fraction:
    """A finite number."""
    exponent = (bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1)
    mantissa = bits & ((1 << f.mantissa_bits) - 1)
    if exponent:
        mantissa |= 1 << f.mantissa_bits
    else:
        exponent = 1
    power = exponent - f.bias - f.mantissa_bits
    magnitude = Fraction(mantissa) * (Fraction(2) ** power)
    return -magnitude if negative(f, bits) else magnitude


def exponent_of(magnitude: Fraction) -> int:
    """Of the largest power of two that is not above a positive number."""
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    while Fraction(2) ** exponent > magnitude:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    return exponent


def encode(f: Format, number: Fraction, *, zero_negative: bool = False, mode: int = 0) -> int:
    """Rounds: 0 nearest even, 1 up, 2 down, 3 towards zero. The sign of an exact zero is given."""
    if number == 0:
        return f.sign_bit if zero_negative else 0
    sign = f.sign_bit if number < 0 else 0
    magnitude = abs(number)
    exponent = exponent_of(magnitude)
    exponent = max(exponent, 1 - f.bias)
    unit = Fraction(2) ** (exponent - f.mantissa_bits)
    steps, rest = divmod(magnitude, unit)
    steps = int(steps)
    up = {
        0: rest * 2 > unit or (rest * 2 == unit and steps & 1),
        1: rest > 0 and not sign,
        2: rest > 0 and bool(sign),
        3: False,
    }[mode]
    steps += bool(up)
    # A carry runs into the exponent field by itself.
    bits = ((exponent + f.bias - 1) << f.mantissa_bits) + steps
    if bits >= f.infinity:
        towards_zero = mode == 3 or (mode == 1 and sign) or (mode == 2 and not sign)
        bits = f.infinity - 1 if towards_zero else f.infinity
    return sign | bits


def quiet(f: Format, bits: int) -> int:
    return bits | f.quiet_bit if is_nan(f, bits) else bits


def flush(f: Format, bits: int) -> int:
    """A denormal becomes a zero of its sign."""
    return bits & f.sign_bit if is_denormal(f, bits) else bits


def neg(f: Format, bits: int) -> int:
    return NAN if bits == NAN else bits ^ f.sign_bit


def add(f: Format, a: int, b: int, mode: int = 0) -> int:
    if is_nan(f, a) or is_nan(f, b):
        return NAN
    if is_inf(f, a) or is_inf(f, b):
        if is_inf(f, a) and is_inf(f, b) and a != b:
            return NAN
        return a if is_inf(f, a) else b
    both_negative = negative(f, a) and negative(f, b)
    exact_zero_negative = both_negative if is_zero(f, a) and is_zero(f, b) else mode == 2
    if is_zero(f, a) and is_zero(f, b) and negative(f, a) != negative(f, b):
        exact_zero_negative = mode == 2
    return encode(f, value(f, a) + value(f, b), zero_negative=exact_zero_negative, mode=mode)


def mul(f: Format, a: int, b: int, mode: int = 0) -> int:
    if is_nan(f, a) or is_nan(f, b):
        return NAN
    sign = (a ^ b) & f.sign_bit
    if is_inf(f, a) or is_inf(f, b):
        return NAN if is_zero(f, a) or is_zero(f, b) else sign | f.infinity
    return encode(f, value(f, a) * value(f, b), zero_negative=bool(sign), mode=mode)


def fma(f: Format, a: int, b: int, c: int, mode: int = 0) -> int:
    if is_nan(f, a) or is_nan(f, b) or is_nan(f, c):
        return NAN
    sign = (a ^ b) & f.sign_bit
    if is_inf(f, a) or is_inf(f, b):
        if is_zero(f, a) or is_zero(f, b) or (is_inf(f, c) and (c & f.sign_bit) != sign):
            return NAN
        return sign | f.infinity
    if is_inf(f, c):
        return c
    product = value(f, a) * value(f, b)
    zero_negative = mode == 2
    if product == 0 and is_zero(f, c) and bool(sign) == negative(f, c):
        zero_negative = bool(sign)
    return encode(f, product + value(f, c), zero_negative=zero_negative, mode=mode)


def convert(to: Format, source: Format, bits: int, mode: int = 0) -> int:
    if is_nan(source, bits):
        return NAN
    if is_inf(source, bits):
        return to.infinity | (to.sign_bit if negative(source, bits) else 0)
    return encode(to, value(source, bits), zero_negative=negative(source, bits), mode=mode)


def extreme(f: Format, a: int, b: int, *, largest: bool, ieee: bool = True) -> int:
    """Minimum or maximum. Source: V_MIN_F32 and V_MAX_F32 of the MI300 ISA manual, IEEE mode on."""
    for x in (a, b):
        if ieee and is_snan(f, x):
            return NAN
    if is_nan(f, a):
        return NAN if is_nan(f, b) else b
    if is_nan(f, b):
        return a
    if is_zero(f, a) and is_zero(f, b):
        return (a & b) if largest else (a | b)
    return max((a, b), key=lambda x: order(f, x)) if largest else min((a, b), key=lambda x: order(f, x))


def order(f: Format, bits: int) -> Fraction | float:
    """Comparable; infinities included."""
    if is_inf(f, bits):
        return float("-inf") if negative(f, bits) else float("inf")
    return value(f, bits)


def to_integer(f: Format, bits: int, *, width: int, signed: bool, rounding: str = "trunc") -> int:
    """Saturates; NaN is 0."""
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    if is_nan(f, bits):
        return 0
    if is_inf(f, bits):
        return (low if negative(f, bits) else high) & ((1 << width) - 1)
    number = value(f, bits)
    if rounding == "floor":
        whole = number.__floor__()
    elif rounding == "half-up":
        whole = (number + Fraction(1, 2)).__floor__()
    elif rounding == "even":
        whole = round(number)
    else:
        whole = number.__trunc__()
    return min(max(whole, low), high) & ((1 << width) - 1)
