#pragma once
namespace tbb {
struct task_arena {
  explicit task_arena(int) {}
  template <class F>
  auto execute(F f) {
    return f();
  }
};
namespace this_task_arena {
template <class F>
auto isolate(const F& f) {
  return f();
}
}  // namespace this_task_arena
}  // namespace tbb
