// All runs of a request, one after the other, on one device; and those of further requests for the same capture, whose memory
// stays on the device. In: request, capture, index, the held addresses. Out: the result document. Called by main.
#pragma once

#include <functional>
#include <memory>

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

class Replayer {
 public:
  // The addresses of the spans of all inputs, which are exchanged for device memory by the first run().
  explicit Replayer(Reservation& reservation);
  ~Replayer();
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  // Fills `result` (kerncap.replay-result/1) as it goes; throws what keeps it from running. A dispatch that faults, stops its queue
  // or does not end makes the device unusable, and tearing down HSA might hang: then `abandon` is called with the status "fault",
  // "error" or "timeout" and an Error in `result`; it must not return. After the first one, all inputs are of the same capture,
  // index and blobs.
  void run(const ReplayInput& input, Json& result, const std::function<void()>& abandon);

 private:
  struct Opened;
  Reservation& reservation_;
  std::unique_ptr<Opened> opened_;
};

}  // namespace kerncap::replay
