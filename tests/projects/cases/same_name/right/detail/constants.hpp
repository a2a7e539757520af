namespace right {
constexpr float offset = 5.0f;
}
