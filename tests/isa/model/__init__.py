"""What each instruction computes, written from the ISA manuals and not from the interpreter. A file a topic.

In: an instruction's name (either spelling), operand bits. Out: result bits, or None where the manuals leave them open.
Source: "AMD Instinct MI300 ISA", "RDNA3 ISA", chapters on instruction definitions. Called by vectors.py and the tests
of conformance results.
"""

from softfloat import NAN

from . import comparisons, conversions, floats, gfx12, integers, scalar, short, small_floats
from .core import DEFAULT, OCP, Mode, Result, find, find_for

__all__ = ["DEFAULT", "NAN", "OCP", "Mode", "Result", "find", "find_for"]
# Each registers its definitions when imported.
_TOPICS = (comparisons, conversions, floats, gfx12, integers, scalar, short, small_floats)
