#include <algorithm>

#include "each_element.hpp"
#include "launcher.hpp"

int main() {
  return each_element(clamp_all, [](float x) { return std::min(std::max(x, -10.0f), 20.0f); });
}
