#pragma once
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "validator/executor/device/view.h"
#include "validator/executor/memory/tracking_allocator.h"

namespace hexaplan::validator {

class Device;

/// Some columns of a tensor under one ledger name.
struct LabelledColumns {
  TensorLabel label;
  std::int64_t cols = 0;
};

/// Device memory with one owner, freed and struck from the account when the owner goes. Freeing is ordered
/// behind what the compute stream has been given so far. Lifetime: the device outlives its tensors.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Device& device, View view, std::vector<LabelledColumns> parts);
  Tensor(Tensor&& other) noexcept { swap(other); }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor taken{std::move(other)};
    swap(taken);
    return *this;
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() { free(); }

  /// Gives the memory back now. No effect on an empty tensor.
  void free();
  [[nodiscard]] bool empty() const { return device_ == nullptr; }
  [[nodiscard]] const View& view() const { return view_; }
  operator const View&() const { return view_; }  // NOLINT(*-explicit-*): a tensor is used as its contents
  /// Precondition: not empty, of one name.
  [[nodiscard]] const TensorLabel& label() const { return parts_.front().label; }
  /// Moves the account to other names of the same sizes: what was being made is now kept.
  void relabel(TensorLabel label);

 private:
  void swap(Tensor& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(view_, other.view_);
    std::swap(parts_, other.parts_);
  }
  Device* device_ = nullptr;
  View view_;
  std::vector<LabelledColumns> parts_;
};

}  // namespace hexaplan::validator
