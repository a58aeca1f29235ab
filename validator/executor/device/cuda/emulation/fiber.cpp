// _longjmp to another stack is what _FORTIFY_SOURCE takes for a jump to a frame that is gone.
#undef _FORTIFY_SOURCE
#include "validator/executor/device/cuda/emulation/fiber.h"

// GCC names AddressSanitizer by a macro, Clang by a feature.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__  // NOLINT(bugprone-reserved-identifier): GCC's name
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
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
}

#if defined(__SANITIZE_ADDRESS__)

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

// ThreadSanitizer is not told: to it fibers are their host's thread, since they take turns. Told, it would
// compare clocks with every other fiber at each switch, only to find the same races. What is lost are the
// names of frames in reports from inside a fiber.
void Fiber::resume() {
  swapcontext(&host_.context, &context_);
}

void Fiber::pause() {
  swapcontext(&context_, &host_.context);
}

void Fiber::arrived() {}

#else

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
