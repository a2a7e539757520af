#pragma once
#include "detail/constants.hpp"
