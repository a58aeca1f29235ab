#include "validator/executor/parallel/outer_shard.h"

#include <utility>

#include "costmodel/memory/outer_states.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;
using costmodel::TensorKind;

Tensor outer_transient(const Rank& rank, std::string_view name, DType dtype, std::int64_t elements) {
  return rank.device.allocate({name, TensorKind::Transient, dtype}, 1, elements);
}

/// A state on the device, for as long as a step needs it.
class OuterState {
 public:
  OuterState(const Rank& rank, const Tensor& kept, bool on_host)
      : rank_{rank}, kept_{kept.view()}, here_{kept.view()} {
    if (!on_host) return;
    staged_ = outer_transient(rank, "outer.staged", DType::Fp32, kept_.elements());
    here_ = staged_.view();
    rank.host->copy(rank.call("outer.to_device", Pass::Step, DType::Fp32), here_, kept_);
  }
  [[nodiscard]] const View& view() const { return here_; }
  void give_back() const {
    if (!staged_.empty())
      rank_.host->copy(rank_.call("outer.to_host", Pass::Step, DType::Fp32), kept_, here_);
  }

 private:
  const Rank& rank_;
  View kept_, here_;
  Tensor staged_;
};

}  // namespace

OuterShard::OuterShard(const Rank& rank, const ShardPlace& place) {
  const costmodel::OuterSteps& outer = rank.scenario.recipe.outer;
  copy_on_host_ = costmodel::outer_states_on_host(outer) >= 1;
  momentum_on_host_ = costmodel::outer_states_on_host(outer) >= 2;
  const auto kept = [&](std::string_view name, bool on_host) {
    Device& device = on_host ? rank.host->states() : rank.device;
    return device.allocate({name, TensorKind::OptimizerState, DType::Fp32}, 1, place.elements);
  };
  copy_ = kept("outer.copy", copy_on_host_);
  momentum_ = kept("outer.momentum", momentum_on_host_);
  (momentum_on_host_ ? rank.host->states() : rank.device).fill(momentum_, 0);
}

void OuterShard::begin(const Rank& rank, const View& parameters) const {
  if (!copy_on_host_) return rank.device.copy(copy_, parameters);
  const Tensor here = rank.device.allocate_message(copy_.view().element, parameters.elements());
  rank.device.copy(here, parameters);
  rank.host->move(copy_, here);
}

/// The mean over replicas, in the type in which it travels.
void OuterShard::average(const Rank& rank, const View& gradient) const {
  Communicator& replicas = *rank.groups.outer;
  if (replicas.size() == 1) return;
  const DType dtype = rank.scenario.recipe.outer.dtype;
  const auto add_up = [&](const View& all) {
    replicas.all_reduce(wire(all), Reduction::Sum, rank.call("outer.gradient_reduce", Pass::Step, dtype))
        .wait();
  };
  if (dtype == DType::Fp32) {
    add_up(gradient);
  } else {
    const Tensor sent = outer_transient(rank, "outer.message", dtype, gradient.elements());
    rank.device.copy(sent, gradient);
    add_up(sent);
    rank.device.copy(gradient, sent);
  }
  rank.device.scale(gradient, 1.0 / replicas.size());
}

void OuterShard::step(const Rank& rank, const OptimizerOptions& options, const View& parameters) const {
  Device& device = rank.device;
  const OuterState copy{rank, copy_, copy_on_host_}, momentum{rank, momentum_, momentum_on_host_};
  const Tensor gradient = outer_transient(rank, "outer.gradient", DType::Fp32, parameters.elements());
  device.copy(gradient, copy.view());
  device.update({.rule = UpdateRule::Descend,
                 .parameter = gradient,
                 .master = gradient,
                 .direction = parameters,
                 .learning_rate = 1});
  average(rank, gradient);
  // p − η·(g + μ·m) for m = μ·m + g, in the order in which two rules give it.
  const double rate = options.outer_learning_rate;
  device.update(
      {.rule = UpdateRule::Sgd,
       .parameter = copy.view(),
       .master = copy.view(),
       .first_moment = momentum.view(),
       .gradient = gradient,
       .learning_rate = costmodel::mutant("outer-momentum-is-not-added") ? 0 : rate * options.outer_momentum,
       .momentum = options.outer_momentum});
  device.update({.rule = UpdateRule::Descend,
                 .parameter = copy.view(),
                 .master = copy.view(),
                 .direction = gradient,
                 .learning_rate = rate});
  device.copy(parameters, copy.view());
  copy.give_back();
  momentum.give_back();
}

}  // namespace hexaplan::validator
