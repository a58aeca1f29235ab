#pragma once
#include "validator/executor/communicator/communicator.h"
#include "validator/executor/device/device.h"

namespace hexaplan::validator {

/// Compute goes on behind `done`.
class Ordered : public Work::Pending {
 public:
  Ordered(Device& device, Event done) : device_{device}, done_{done} {}
  void wait() override { device_.wait(Stream::Compute, done_); }

 private:
  Device& device_;
  Event done_;
};

/// What `run` puts on the communication stream goes behind what was computed so far.
template <class Run>
[[nodiscard]] Event on_communication_stream(Device& device, const Run& run) {
  device.wait(Stream::Communication, device.record(Stream::Compute));
  device.timed_messages(run);
  return device.record(Stream::Communication);
}

}  // namespace hexaplan::validator
