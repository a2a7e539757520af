#include "../case.hpp"

void launch_one(const float* in, float* out, int n);
void launch_two(const float* in, float* out, int n);

int main() {
  Case both;
  launch_one(both.in(), both.out(), Case::count);
  launch_two(both.out(), both.in(), Case::count);
  return finish(both.result_of_in([](float x) { return x * 3.0f * 7.0f; }));
}
