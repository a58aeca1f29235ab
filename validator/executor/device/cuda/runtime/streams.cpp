#include "validator/executor/device/cuda/runtime/streams.h"

#include <mutex>

#include "validator/executor/device/cuda/runtime/check.h"

namespace hexaplan::validator::cuda {
namespace {

/// Events outlive their rank: another rank of this process may be about to wait for one. They are handed on
/// to later ranks instead.
class EventStore {
 public:
  cudaEvent_t take(int gpu) {
    {
      const std::scoped_lock lock{mutex_};
      for (auto left = left_.begin(); left != left_.end(); ++left) {
        if (left->gpu != gpu) continue;
        const cudaEvent_t event = left->event;
        left_.erase(left);
        return event;
      }
    }
    cudaEvent_t event = nullptr;
    HEXAPLAN_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
  }
  void leave(int gpu, cudaEvent_t event) {
    const std::scoped_lock lock{mutex_};
    left_.push_back({gpu, event});
  }

 private:
  struct Left {
    int gpu;
    cudaEvent_t event;
  };
  std::mutex mutex_;
  std::vector<Left> left_;
};

EventStore& event_store() {
  static EventStore store;
  return store;
}

int current_gpu() {
  int gpu = 0;
  cudaGetDevice(&gpu);
  return gpu;
}

}  // namespace

OrderedStream::OrderedStream(bool urgent) {
  int least = 0, greatest = 0;
  HEXAPLAN_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  HEXAPLAN_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? greatest : least));
}

OrderedStream::~OrderedStream() {
  cudaStreamSynchronize(stream_);
  for (const cudaEvent_t point : points_) {
    if (point != nullptr) event_store().leave(current_gpu(), point);
  }
  cudaStreamDestroy(stream_);
}

Event OrderedStream::record() {
  cudaEvent_t& point = points_[next_];
  next_ = (next_ + 1) % kPoints;
  if (point == nullptr) point = event_store().take(current_gpu());
  HEXAPLAN_CUDA(cudaEventRecord(point, stream_));
  return {reinterpret_cast<std::uintptr_t>(point)};  // NOLINT(*-reinterpret-cast): handles are pointers
}

void OrderedStream::wait(Event event) const {
  if (event.id == 0) return;
  HEXAPLAN_CUDA(cudaStreamWaitEvent(stream_, reinterpret_cast<cudaEvent_t>(event.id)));  // NOLINT
}

MarkPool::~MarkPool() {
  for (const cudaEvent_t event : events_) cudaEventDestroy(event);
}

TimeMark MarkPool::record(cudaStream_t stream) {
  if (used_ == events_.size()) HEXAPLAN_CUDA(cudaEventCreate(&events_.emplace_back()));
  HEXAPLAN_CUDA(cudaEventRecord(events_[used_], stream));
  return {++used_};
}

costmodel::Seconds MarkPool::between(TimeMark begin, TimeMark end) const {
  float milliseconds = 0;
  HEXAPLAN_CUDA(cudaEventElapsedTime(&milliseconds, events_.at(begin.id - 1), events_.at(end.id - 1)));
  return costmodel::Seconds{static_cast<double>(milliseconds) * 1e-3};
}

}  // namespace hexaplan::validator::cuda
