// Every kernel and case in one unit: what the matrix builds for each combination.
#include "atomics.hip"
#include "elementwise.hip"
#include "gemm.hip"
#include "integers.hip"
#include "language.hip"
#include "mathlib.hip"
#include "matrix_core.hip"
#include "reduce.hip"
