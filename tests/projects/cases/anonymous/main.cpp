#include "each_element.hpp"

void scale_first(float* data, int n);
void scale_second(float* data, int n);

int main(int count, char**) {
  if (count > 1) return each_element(scale_first, [](float x) { return 3.0f * x; });
  return each_element(scale_second, [](float x) { return 7.0f * x; });
}
