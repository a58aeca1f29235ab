#pragma once
namespace tbb {
template <class Index, class F>
void parallel_for(Index first, Index last, const F& f) {
  for (; first < last; ++first) f(first);
}
}  // namespace tbb
