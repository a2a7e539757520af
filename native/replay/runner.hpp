// All runs of a request, one after the other, on one device. In: request, capture, index, the held addresses. Out: the result
// document. Called by main.
#pragma once

#include <functional>

#include "base/json.hpp"
#include "replay/capture_info.hpp"
#include "replay/request.hpp"
#include "replay/reservation.hpp"

namespace kerncap::replay {

struct ReplayInput {
  const Request& request;
  const CaptureInfo& capture;
  const Index& index;
  std::span<const Span> spans;
};

// Fills `result` (kerncap.replay-result/1) as it goes. A dispatch that faults, stops its queue or does not end makes the device
// unusable, and tearing down HSA might hang: then `abandon` is called with the status "fault", "error" or "timeout" and an
// Error in `result`; it must not return.
void run_all(const ReplayInput& input, Reservation& reservation, Json& result, const std::function<void()>& abandon);

}  // namespace kerncap::replay
