#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>
namespace tbb {

class flow_control {
 public:
  void stop() { stopped_ = true; }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  bool stopped_ = false;
};
enum class filter_mode { serial_in_order, parallel };

/// Stages that follow each other: called with the control and a function that takes what comes out.
template <class In, class Out, class F>
struct filter {
  F run;
};
/// The first stage makes something, until it stops.
template <class In, class Out, class F>
requires std::is_void_v<In>
auto make_filter(filter_mode, F make) {
  auto run = [make](flow_control& control, const auto& next) mutable {
    Out out = make(control);
    if (!control.stopped()) next(std::move(out));
  };
  return filter<In, Out, decltype(run)>{std::move(run)};
}
/// The others take what comes in.
template <class In, class Out, class F>
requires(!std::is_void_v<In>) auto make_filter(filter_mode, F take) {
  return filter<In, Out, F>{std::move(take)};
}
template <class In, class Middle, class Out, class F, class G>
auto operator&(filter<In, Middle, F> first, filter<Middle, Out, G> second) {
  auto run = [first = std::move(first), second = std::move(second)](flow_control& control,
                                                                    const auto& next) mutable {
    first.run(control, [&](Middle middle) {
      if constexpr (std::is_void_v<Out>) {
        second.run(std::move(middle));
      } else {
        next(second.run(std::move(middle)));
      }
    });
  };
  return filter<In, Out, decltype(run)>{std::move(run)};
}

template <class F>
void parallel_pipeline(std::size_t, filter<void, void, F> stages) {
  flow_control control;
  while (!control.stopped()) stages.run(control, [](auto&&...) {});
}

}  // namespace tbb
