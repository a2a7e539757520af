namespace left {
constexpr float factor = 3.0f;
}
