#pragma once

constexpr float factor_of_a = 2.0f;
