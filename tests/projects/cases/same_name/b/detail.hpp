#pragma once

constexpr float factor_of_b = 4.0f;
