#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "validator/executor/communicator/traffic.h"
#include "validator/executor/device/device.h"

namespace hexaplan::validator {

class FileArena;

/// Copies of one name and pass over the link between a device and its host.
struct CopyRow {
  std::string_view operation;
  costmodel::Pass pass = costmodel::Pass::Forward;
  std::int64_t copies = 0;
  costmodel::Bytes bytes;  // in the ledger's types
};

/// What a rank's offloaded tensors lie in: memory of the host, for states also a file on its disks, each an
/// arena with an account of its own, and the link over which they come and go. Values are stored as the
/// device stores them, and what the host computes it computes as a CPU device does.
class HostMemory {
 public:
  /// `device` outlives it. `on_disk`: states lie in a file (ZeRO-Infinity, arXiv:2104.07857).
  HostMemory(Device& device, bool on_disk, int threads);

  /// Where parameters, gradients and optimizer states lie, and where activations do.
  [[nodiscard]] Device& states() { return states_ ? *states_ : *memory_; }
  [[nodiscard]] Device& activations() { return *memory_; }
  [[nodiscard]] bool on_disk() const { return states_ != nullptr; }
  /// What follows belongs to this instant of the step.
  void enter(costmodel::Instant instant);

  /// Copies between device and host, of one element and size, contiguous; done when the call returns. Counts
  /// nothing: before the first step.
  void move(const View& to, const View& from);
  /// The same, counted under the call's name and pass in its type.
  void copy(const Call& call, const View& to, const View& from);
  [[nodiscard]] const std::vector<CopyRow>& copies() const { return copies_; }
  void clear_copies() { copies_.clear(); }

  /// sum (1×1, on the device) += squares of gradients that the host has added up since the last call.
  void add_squares(const View& sum);
  /// Where the host adds up squares. 1×1.
  [[nodiscard]] const View& squares() const { return squares_.view(); }

  /// Throws std::runtime_error where the file of the states does not hold what they are.
  void check_file() const;

 private:
  Device& device_;
  std::unique_ptr<Device> memory_, states_;
  const FileArena* file_ = nullptr;
  Tensor squares_;
  std::vector<CopyRow> copies_;
};

}  // namespace hexaplan::validator
