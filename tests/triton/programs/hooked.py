"""A kernel of the script itself, and hooks of the user's around each launch.

Prints EXIT-SUCCESS when numpy agrees and the hooks were called. Called by test_triton_arguments.py, under kerncap.
"""

import sys

import numpy as np
import triton
import triton.language as tl
from device_arrays import Array, synchronize, use
from triton import knobs


def factor():
    return 3


FACTOR = tl.constexpr(factor())
CALLED = []


@triton.jit
def scaled(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) * FACTOR, mask=at < n)


def set_hook(name, call):
    """3.4 has one hook, later releases a chain of them."""
    place = getattr(knobs.runtime, name)
    if hasattr(place, "add"):
        place.add(call)
    else:
        setattr(knobs.runtime, name, call)


def main():
    use()
    set_hook("launch_enter_hook", lambda launch: CALLED.append(("enter", launch.get()["name"])))
    set_hook("launch_exit_hook", lambda launch: CALLED.append(("exit", launch.get()["name"])))
    x, out = np.arange(1000, dtype=np.float32), Array(np.zeros(1000, np.float32))
    scaled[(4,)](Array(x), out, n=1000, B=256)
    synchronize()
    right = (out.numpy() == x * 3).all() and CALLED == [("enter", "scaled"), ("exit", "scaled")]
    print("EXIT-SUCCESS" if right else f"WRONG: {CALLED}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
