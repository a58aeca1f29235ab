// _longjmp to another stack is what _FORTIFY_SOURCE takes for a jump to a frame that is gone.
#undef _FORTIFY_SOURCE
#include "validator/device/cuda/emulation/fiber.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace hexaplan::validator::cuda::emulation {
namespace {

constexpr std::size_t kStackBytes = 64 << 10;  // only what is used is touched

}  // namespace

Fiber::Fiber(HostStack& host, void (*body)())
    : host_{host}, stack_{std::make_unique_for_overwrite<std::byte[]>(kStackBytes)} {
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_.get();
  context_.uc_stack.ss_size = kStackBytes;
  context_.uc_link = nullptr;
  makecontext(&context_, body, 0);
#if defined(__SANITIZE_THREAD__)
  sanitizer_ = __tsan_create_fiber(0);
#endif
}

#if defined(__SANITIZE_ADDRESS__)

Fiber::~Fiber() = default;

void Fiber::resume() {
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, stack_.get(), kStackBytes);
  swapcontext(&host_.context, &context_);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

void Fiber::pause() {
  __sanitizer_start_switch_fiber(&sanitizer_, host_.bottom, host_.bytes);
  swapcontext(&context_, &host_.context);
  __sanitizer_finish_switch_fiber(sanitizer_, &host_.bottom, &host_.bytes);
}

void Fiber::arrived() {
  __sanitizer_finish_switch_fiber(nullptr, &host_.bottom, &host_.bytes);
}

#elif defined(__SANITIZE_THREAD__)

Fiber::~Fiber() {
  __tsan_destroy_fiber(sanitizer_);
}

void Fiber::resume() {
  host_.sanitizer = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(sanitizer_, 0);
  swapcontext(&host_.context, &context_);
}

void Fiber::pause() {
  __tsan_switch_to_fiber(host_.sanitizer, 0);
  swapcontext(&context_, &host_.context);
}

void Fiber::arrived() {}

#else

Fiber::~Fiber() = default;

void Fiber::resume() {
  if (_setjmp(host_.registers) != 0) return;
  if (begun_) _longjmp(registers_, 1);
  begun_ = true;
  setcontext(&context_);
}

void Fiber::pause() {
  if (_setjmp(registers_) == 0) _longjmp(host_.registers, 1);
}

void Fiber::arrived() {}

#endif

}  // namespace hexaplan::validator::cuda::emulation
