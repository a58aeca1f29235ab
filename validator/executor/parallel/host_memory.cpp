#include "validator/executor/parallel/host_memory.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/memory/file_arena.h"

namespace hexaplan::validator {

using costmodel::DType;

HostMemory::HostMemory(Device& device, bool on_disk, int threads) : device_{device} {
  const Element element = device.element_of(DType::Bf16);
  memory_ = make_cpu_device(element, {.threads = threads});
  if (on_disk) {
    auto file = std::make_unique<FileArena>();
    file_ = file.get();
    states_ = make_cpu_device(element, {.arena = std::move(file), .threads = threads});
  }
  squares_ = states().allocate_message(states().element_of(DType::Fp32), 1);
  states().fill(squares_, 0);
}

void HostMemory::enter(costmodel::Instant instant) {
  memory_->memory().enter(instant);
  if (states_) states_->memory().enter(instant);
}

/// What the host reads next has arrived, and what it wrote may change.
void HostMemory::move(const View& to, const View& from) {
  assert(to.element == from.element && to.contiguous() && from.contiguous());
  if (to.elements() == 0) return;
  device_.copy(to, from);
  device_.synchronize();
}

void HostMemory::copy(const Call& call, const View& to, const View& from) {
  if (to.elements() == 0) return;
  move(to, from);
  auto row = std::find_if(copies_.begin(), copies_.end(), [&](const CopyRow& r) {
    return r.pass == call.pass && r.operation == call.operation;
  });
  if (row == copies_.end()) row = copies_.insert(row, {.operation = call.operation, .pass = call.pass});
  ++row->copies;
  row->bytes += costmodel::size_of(to.elements(), call.dtype);
}

void HostMemory::add_squares(const View& sum) {
  std::array<double, 1> value{};
  states().download(value, squares_);
  states().fill(squares_, 0);
  if (value.front() == 0) return;
  const Tensor on_device = device_.allocate_message(sum.element, 1);
  device_.upload(on_device, std::span<const double>{value});
  device_.add(sum, on_device);
}

void HostMemory::check_file() const {
  if (file_ != nullptr) file_->check();
}

}  // namespace hexaplan::validator
