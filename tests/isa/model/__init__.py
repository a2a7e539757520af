"""What each instruction computes, written from the ISA manuals and not from the interpreter. A file a topic.

In: an instruction's name (either spelling), operand bits. Out: result bits, or None where the manuals leave them open.
Source: "AMD Instinct MI300 ISA", "RDNA3 ISA", chapters on instruction definitions. Called by vectors.py and the tests
of conformance results.
"""

from softfloat import NAN

from . import comparisons, conversions, floats, integers, scalar, short
from .core import DEFAULT, Mode, Result, find

__all__ = ["DEFAULT", "NAN", "Mode", "Result", "find"]
_TOPICS = (comparisons, conversions, floats, integers, scalar, short)  # each registers its definitions when imported
