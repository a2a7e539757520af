#include "shift.hpp"

void launch_shift(const float* in, float* out, int n) { shift<<<(n + 255) / 256, 256>>>(in, out, n); }
