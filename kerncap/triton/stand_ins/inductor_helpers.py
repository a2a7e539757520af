"""What kernels of torch's Inductor take from torch's triton_helpers, written anew, so that Triton alone compiles them.

Each function computes what the one of that name in torch 2.14 does, NaNs, infinities and ties included; earlier
releases differ in welford_combine of two infinite means. What a kernel uses is copied into its reproducer; nothing here
is run by kerncap itself.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def promote_to_tensor(x):
    return x + tl.zeros((1,), tl.int1)


@triton.jit
def is_floating(x):
    return promote_to_tensor(x).dtype.is_floating()


@triton.jit
def div_floor_integer(a, b):
    """Rounded down, as in Python; the division of Triton rounds towards zero."""
    quotient = a // b
    down = tl.where(a % b != 0, quotient - 1, quotient)
    return tl.where((a < 0) != (b < 0), down, quotient)


@triton.jit
def remainder_integer(a, b):
    """With the sign of the divisor, as in Python."""
    left = a % b
    return tl.where((left != 0) & ((a < 0) != (b < 0)), left + b, left)


@triton.jit
def minimum(a, b):
    """NaN when one of them is."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def maximum(a, b):
    """NaN when one of them is."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def fmaximum(a, b):
    return tl.maximum(a, b)


@triton.jit
def min2(a, dim):
    return tl.reduce(a, dim, minimum)


@triton.jit
def max2(a, dim):
    return tl.reduce(a, dim, maximum)


@triton.jit
def fmax2(a, dim):
    return tl.reduce(a, dim, fmaximum)


@triton.jit
def _minimum_of_equals(a, b):
    """The second of two equal ones, which is another one of 0 and -0."""
    least = minimum(a, b)
    if is_floating(a):
        least = tl.where(a == b, b, least)
    return least


@triton.jit
def _maximum_of_equals(a, b):
    most = maximum(a, b)
    if is_floating(a):
        most = tl.where(a == b, b, most)
    return most


@triton.jit
def min2_strict(a, dim):
    return tl.reduce(a, dim, _minimum_of_equals)


@triton.jit
def max2_strict(a, dim):
    return tl.reduce(a, dim, _maximum_of_equals)


@triton.jit
def minimum_with_index(a_value, a_index, b_value, b_index):
    """A NaN is less than all; of equal ones, or of NaNs, the first."""
    first = a_value < b_value
    same = a_value == b_value
    if is_floating(a_value):
        nan_a = a_value != a_value
        nan_b = b_value != b_value
        first |= nan_a & (not nan_b)
        same |= nan_a & nan_b
    first |= same & (a_index < b_index)
    return tl.where(first, a_value, b_value), tl.where(first, a_index, b_index)


@triton.jit
def maximum_with_index(a_value, a_index, b_value, b_index):
    """A NaN is greater than all; of equal ones, or of NaNs, the first."""
    first = a_value > b_value
    same = a_value == b_value
    if is_floating(a_value):
        nan_a = a_value != a_value
        nan_b = b_value != b_value
        first |= nan_a & (not nan_b)
        same |= nan_a & nan_b
    first |= same & (a_index < b_index)
    return tl.where(first, a_value, b_value), tl.where(first, a_index, b_index)


@triton.jit
def min_with_index(value, index, dim):
    return tl.reduce((value, index), dim, minimum_with_index)


@triton.jit
def max_with_index(value, index, dim):
    return tl.reduce((value, index), dim, maximum_with_index)


@triton.jit
def _product(a, b):
    return a * b


@triton.jit
def prod(input, axis):
    return tl.reduce(input, axis, _product)


@triton.jit
def _either(a, b):
    return a | b


@triton.jit
def any(a, dim):
    return tl.reduce(a, dim, _either)


@triton.jit
def welford_reduce(value, mean, m2, weight, first_iteration):
    """One more value into mean, sum of squared differences and count."""
    if first_iteration:
        new_weight = tl.full(weight.shape, 1, weight.dtype)
        new_mean = value
        new_m2 = tl.zeros_like(m2)
    else:
        step = value - mean
        new_weight = weight + 1
        new_mean = mean + step / new_weight
        new_m2 = m2 + step * (value - new_mean)
    return new_mean, new_m2, new_weight


@triton.jit
def welford_combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    """Of equal means the difference is zero, infinite ones too."""
    step = tl.where(mean_1 == mean_2, 0.0, mean_2 - mean_1)
    total = weight_1 + weight_2
    share = tl.where(total == 0.0, 0.0, weight_2 / total)
    return mean_1 + step * share, m2_1 + m2_2 + step * step * weight_1 * share, total


@triton.jit
def welford(mean, m2, weight, dim):
    return tl.reduce((mean, m2, weight), dim, welford_combine)


@triton.jit
def exp(x, use_fast_math: tl.constexpr):
    if use_fast_math:
        return tl.math.exp(x)
    else:
        return libdevice.exp(x)


@triton.jit
def online_softmax_reduce(lhs_max, lhs_sum, dim, use_fast_math: tl.constexpr, strict_signed_zero: tl.constexpr = False):
    """Maximum, and sum of exponentials relative to it, over a dimension; of -inf throughout the sum as it is."""
    if strict_signed_zero:
        most = max2_strict(lhs_max, dim)
    else:
        most = max2(lhs_max, dim)
    kept = tl.expand_dims(most, dim)
    below = tl.where(kept == float("-inf"), 0, lhs_max - kept)
    return most, tl.sum(lhs_sum * exp(below, use_fast_math), dim)


@triton.jit
def online_softmax_combine(
    lhs_max, lhs_sum, rhs_max, use_fast_math: tl.constexpr, strict_signed_zero: tl.constexpr = False
):
    """The accumulated maximum and sum with one more value of each."""
    if strict_signed_zero:
        most = _maximum_of_equals(lhs_max, rhs_max)
    else:
        most = maximum(lhs_max, rhs_max)
    left = tl.where(most == float("-inf"), 1.0, exp(lhs_max - most, use_fast_math))
    right = tl.where(most == float("-inf"), 1.0, exp(rhs_max - most, use_fast_math))
    return most, lhs_sum * left + right


@triton.jit
def device_assert_then(cond, msg, r):
    tl.device_assert(cond, msg)
    return r


@triton.jit
def randint64(seed, offset, low, high):
    """From `low` up to, not including, `high`: 64 bits of Philox, reduced."""
    r0, r1, _r2, _r3 = tl.randint4x(seed, offset)
    low_bits = r0.to(tl.uint64)
    high_bits = r1.to(tl.uint64)
    bits = low_bits | (high_bits << 32)
    size = high - low
    bits = bits % size.to(tl.uint64)
    return bits.to(tl.int64) + low
