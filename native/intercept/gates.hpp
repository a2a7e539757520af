// The signals of the barriers around a dispatch (capture.hpp says how they are used).
#pragma once

#include "intercept/signals.hpp"

namespace kerncap::intercept {

struct Gates {
  Signal before{1};
  Signal open_target{1};
  Signal after{1};
  Signal open_rest{1};
  Signal passed{1, Signal::Kind::Polled};  // the last of the barriers has been
};

}  // namespace kerncap::intercept
