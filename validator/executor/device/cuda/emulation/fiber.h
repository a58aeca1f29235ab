#pragma once
#include <ucontext.h>

#include <csetjmp>
#include <cstddef>
#include <memory>

namespace hexaplan::validator::cuda::emulation {

/// Where a host thread goes on when a fiber pauses.
struct HostStack {
  ucontext_t context{};
  std::jmp_buf registers{};
  const void* bottom = nullptr;
  std::size_t bytes = 0;
};

/// A function on a stack of its own that stops and goes on. With sanitizers fibers switch by swapcontext,
/// else by _setjmp, which needs no system call. One that is destroyed while paused is just forgotten: nothing
/// on its stack is destroyed.
class Fiber {
 public:
  /// `body` never returns. Nothing runs yet.
  Fiber(HostStack& host, void (*body)());
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() = default;
  /// On the host's stack: runs until the fiber pauses.
  void resume();
  /// On the fiber's own stack.
  void pause();
  /// First call of the body.
  void arrived();

 private:
  HostStack& host_;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t context_{};
  // Used where fibers switch by jumps, without AddressSanitizer.
  [[maybe_unused]] std::jmp_buf registers_{};
  [[maybe_unused]] bool begun_ = false;
  [[maybe_unused]] void* sanitizer_ = nullptr;  // what AddressSanitizer knows this stack by
};

}  // namespace hexaplan::validator::cuda::emulation
