#include "validator/executor/device/tensor.h"

#include <cassert>

#include "validator/executor/device/device.h"

namespace hexaplan::validator {

Tensor::Tensor(Device& device, View view, std::vector<LabelledColumns> parts)
    : device_{&device}, view_{view}, parts_{std::move(parts)} {}

void Tensor::free() {
  if (device_ == nullptr) return;
  for (const LabelledColumns& part : parts_) device_->memory_.released(part.label, view_.rows * part.cols);
  device_->give_back(view_.data, view_.bytes());
  device_ = nullptr;
  view_ = {};
  parts_.clear();
}

void Tensor::relabel(TensorLabel label) {
  assert(device_ != nullptr && parts_.size() == 1);
  device_->memory_.relabelled(parts_.front().label, label, view_.elements());
  parts_.front().label = label;
}

}  // namespace hexaplan::validator
