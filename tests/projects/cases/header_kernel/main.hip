#include "../case.hpp"

void launch_shift(const float* in, float* out, int n);

int main() {
  Case one;
  launch_shift(one.in(), one.out(), Case::count);
  return finish(one.result_of_out([](float x) { return x + 5.0f; }));
}
