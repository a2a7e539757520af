#pragma once

void clamp_all(float* data, int n);
