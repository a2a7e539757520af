#include "launcher.hpp"

#include "../case.hpp"

int main() {
  Case one;
  fill(one.out(), Case::count);
  scale(one.in(), one.out(), Case::count);
  return finish(one.result_of_out([](float x) { return 1.0f + x * 2.0f; }));
}
