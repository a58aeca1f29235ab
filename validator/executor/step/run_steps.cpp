#include "validator/executor/step/run_steps.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/spec/stage_plan.h"
#include "validator/executor/interpreter/first_not_finite.h"
#include "validator/executor/optimizer/loss_scale.h"
#include "validator/executor/report/collect.h"
#include "validator/executor/step/stage.h"

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;
using costmodel::TensorKind;

bool is_finite(const StepReport& step) {
  return std::isfinite(step.loss) && (std::isfinite(step.gradient_norm) || step.skipped);
}

/// One rank's training: a stage, the order of its tasks, the optimizer.
class RankTraining {
 public:
  RankTraining(const costmodel::Scenario& sc, const RunOptions& options, Device& device, Communicator& world)
      : options_{options},
        rank_{sc, device, world, options.initial, options.host_threads},
        stage_{rank_, options.seed},
        schedule_{costmodel::make_schedule(sc.layout.schedule, sc.layout.pp,
                                           static_cast<int>(costmodel::microbatches_per_step(sc)),
                                           costmodel::chunks_per_stage(sc.layout))},
        tokens_{
            options.tokens.value_or(TokenSource::random(options.seed, sc.model.vocab, sc.recipe.sequence))},
        sums_{device.allocate({"step.sums", TensorKind::Transient, DType::Fp32}, 1, 3)},
        loss_scale_{sc.recipe.precision == costmodel::Precision::Fp16} {
    rank_.routing = options.routing;
    rank_.drops_as = options.drops_as;
  }

  /// Warm-up, measured and profiled ones.
  [[nodiscard]] std::int64_t steps_in_all() const {
    return options_.warm_up + options_.steps + (options_.profile && has_streams() ? 1 : 0);
  }

  /// `step` counts from 1. Parameters stay as they were where the numbers have to be finite and are not.
  StepReport run(std::int64_t step) {
    begin_step(step);
    begin_outer_steps();
    rank_.loss_scale = loss_scale_.factor();
    stage_.load_tokens(tokens_, step - 1);
    StepReport report{
        .step = step, .learning_rate = options_.learning_rate.at(step), .loss_scale = rank_.loss_scale};
    rank_.device.fill(sums_, 0);
    if (updates_in_backward()) {
      in_backward_ = optimizer_step(report);
      rank_.update = &in_backward_;
      rank_.squares = squares();
    }
    run_passes();
    rank_.enter(costmodel::kOptimizer);
    add_up_norm_and_loss(report);
    if (!fails(report) && !updates_in_backward()) update(report);
    rank_.enter(costmodel::kIdle);
    rank_.clock.enter(Phase::Other);
    end_step(report);
    return report;
  }

  /// What runs between the operations of a program.
  [[nodiscard]] StepPlace place() const {
    std::string words = rank_.layer < 0 ? std::string{"the step's ends"}
                                        : fmt::format("parameters or gradients of layer {}", rank_.layer);
    if (rank_.microbatch >= 0) words += fmt::format(", micro-batch {}", rank_.microbatch);
    return {.text = std::move(words), .operation = {}, .layer = rank_.layer, .microbatch = rank_.microbatch};
  }

  /// After the last step: the disks have what the host believes.
  void check_offloaded() const {
    if (rank_.host) rank_.host->check_file();
  }

  [[nodiscard]] bool fails(const StepReport& step) const {
    return options_.checks_numbers && !is_finite(step);
  }

  /// Runs the passes of the step that failed once more and looks at every result: where its numbers went
  /// wrong first on this rank. Collective.
  [[nodiscard]] std::optional<NotFiniteOrigin> origin_of_failure() {
    if (updates_in_backward()) return std::nullopt;  // parameters are no longer what they were
    FirstNotFinite watch;
    rank_.watch = &watch;
    run_passes();
    rank_.watch = nullptr;
    return watch.found();
  }

  RankView view(std::int64_t step, bool last) {
    return {.rank = rank_,
            .visit_state =
                [this](State state, const std::function<void(const OwnedPart&)>& visitor) {
                  for (Unit* unit : stage_.units()) unit->visit(rank_, state, visitor);
                },
            .state_changed =
                [this] {
                  for (Unit* unit : stage_.units()) {
                    for (FlatParameters& flat : unit->flats()) flat.follow_master(rank_);
                  }
                },
            .step = step,
            .last = last};
  }

  RankReport report() {
    RankReport out{.rank = rank_.groups.world->rank(),
                   .stage = rank_.groups.pipeline->rank(),
                   .process = getpid(),
                   .device = rank_.device.description(),
                   .step_times = step_times_,
                   .phases = rank_.clock.times(),
                   .layers = rank_.clock.layers(),
                   .compute = rank_.device.compute_times(),
                   .timed_steps = timed_steps_,
                   .facts = rank_.device.facts(),
                   .memory = memory_report(rank_.device.memory()),
                   .offloaded = host_report(),
                   .traffic = traffic_report(rank_.groups.world->traffic())};
    for (const CommunicatorMemory& group : rank_.groups.world->device_memory()) {
      out.facts.push_back(taken_memory(
          fmt::format("{}{} {} ranks", kCommunicatorFact, group.ranks, name_of(group.kind)), group.bytes));
    }
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) == 0) out.host = host.data();
    for (const auto& [issue, flops] : rank_.device.issued_flops()) {
      OperationReport row{std::string{issue.operation}, issue.pass, costmodel::Flops{flops}, {}, {}};
      const auto timed = rank_.device.issued_times().find(issue);
      if (timed != rank_.device.issued_times().end()) {
        row.timed_flops = costmodel::Flops{timed->second.flops};
        row.time = timed->second.time;
      }
      out.operations.push_back(std::move(row));
    }
    return out;
  }

 private:
  void run_passes() {
    stage_.begin_step();
    stage_.run(schedule_.stages[static_cast<std::size_t>(rank_.groups.pipeline->rank())]);
    stage_.finish_gradients();
  }

  /// After the warm-up everything that is counted starts again. A device with streams times its calls in the
  /// last step alone: marks around every call slow short ones down.
  void begin_step(std::int64_t step) {
    const std::int64_t number = step - options_.first_step;  // of this run, from 1
    if (number == options_.warm_up + 1 && options_.warm_up > 0) {
      rank_.device.reset_flops();
      rank_.clock.restart();
      rank_.groups.world->clear_traffic();
      if (rank_.host) rank_.host->clear_copies();
      timed_steps_ = 0;
    }
    times_calls_ = number == steps_in_all() || !has_streams();
    rank_.device.time_calls(times_calls_);
    begin_ = rank_.device.mark(Stream::Compute);
  }

  /// From the parameters as they were made or loaded.
  void begin_outer_steps() {
    if (!rank_.scenario.recipe.outer.taken() || std::exchange(outer_begun_, true)) return;
    for (Unit* unit : stage_.units()) {
      for (const FlatParameters& flat : unit->flats()) flat.begin_outer_steps(rank_);
    }
  }

  [[nodiscard]] bool updates_in_backward() const { return rank_.scenario.recipe.optimizer_in_backward; }
  [[nodiscard]] View squares() const { return sums_.view().slice(0, 1); }
  [[nodiscard]] bool has_streams() const { return rank_.device.native_stream(Stream::Compute) != nullptr; }

  /// From the first call's begin to the moment at which every stream is empty.
  void end_step(StepReport& report) {
    rank_.device.synchronize();
    const TimeMark end = rank_.device.mark(Stream::Compute);
    rank_.device.synchronize();
    step_times_.push_back(rank_.device.between(begin_, end));
    rank_.clock.settle();
    rank_.groups.world->settle_traffic();
    timed_steps_ += times_calls_ ? 1 : 0;
    const auto number = static_cast<std::int64_t>(step_times_.size());
    report.time = step_times_.back();
    report.warm_up = number <= options_.warm_up;
    report.profiled = times_calls_ && has_streams();
  }

  /// Squares of all gradients, every parameter once, and the losses of all tokens, in one message.
  void add_up_norm_and_loss(StepReport& report) {
    rank_.clock.enter(Phase::Clipping);
    const View loss = sums_.view().slice(1, 1), balance = sums_.view().slice(2, 1);
    for (Unit* unit : stage_.units()) {
      if (updates_in_backward()) break;  // they have been added
      for (const FlatParameters& flat : unit->flats()) flat.add_squares(rank_, squares());
    }
    if (rank_.host) rank_.host->add_squares(squares());
    // Tensor-parallel ranks have seen the same tokens.
    if (rank_.groups.tensor->rank() == 0) rank_.device.add(loss, stage_.loss());
    rank_.device.add(balance, stage_.balance_loss());
    rank_.groups.together()
        .all_reduce(wire(sums_), Reduction::Sum, rank_.call("step.norm_and_loss", Pass::Step, DType::Fp32))
        .wait();
    std::array<double, 3> values{};
    rank_.device.download(values, sums_);
    report.gradient_norm = std::sqrt(values[0]) / report.loss_scale;
    report.balance_loss = values[2] / report.loss_scale;
    report.loss = (values[1] + values[2]) / report.loss_scale;
    norm_ = report.gradient_norm;
    report_means(report);
    report.skipped = loss_scale_.scales() && !std::isfinite(report.gradient_norm);
    loss_scale_.follow(!report.skipped);
    skipped_ += report.skipped ? 1 : 0;
  }

  /// Of replicas that train apart, which do without: control.
  void report_means(StepReport& report) const {
    if (rank_.groups.outer->size() == 1) return;
    const std::array<double, 3> mine{report.gradient_norm, report.balance_loss, report.loss};
    std::array<double, 3> sums{};
    const auto all = rank_.groups.outer->gather_bytes(std::as_bytes(std::span{mine}));
    for (const std::vector<std::byte>& bytes : all) {
      std::array<double, 3> theirs{};
      std::memcpy(theirs.data(), bytes.data(), sizeof theirs);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += theirs[i] / static_cast<double>(all.size());
    }
    report.gradient_norm = sums[0];
    report.balance_loss = sums[1];
    report.loss = sums[2];
  }

  /// A step that is skipped changes nothing, but its messages are sent.
  void update(const StepReport& report) {
    rank_.clock.enter(Phase::Optimizer);
    update_shards(report);
    if (takes_outer_step(report.step)) {
      for (Unit* unit : stage_.units()) {
        for (FlatParameters& flat : unit->flats()) flat.take_outer_step(rank_, options_.optimizer);
      }
    }
    rank_.clock.enter(Phase::Gather);
    for (Unit* unit : stage_.units()) {
      for (FlatParameters& flat : unit->flats()) flat.collect_updated(rank_);
    }
  }

  /// What is updated in backward is never clipped: the norm is known when the last gradient is.
  [[nodiscard]] OptimizerStep optimizer_step(const StepReport& report) const {
    const double clipped = updates_in_backward() ? 1 : clip_factor(norm_, options_.optimizer.clip_norm);
    return {.options = options_.optimizer,
            .learning_rate = report.learning_rate,
            .gradient_factor = clipped / report.loss_scale,
            .step = report.step - skipped_,
            .skipped = report.skipped};
  }

  void update_shards(const StepReport& report) {
    const OptimizerStep step = optimizer_step(report);
    for (Unit* unit : stage_.units()) {
      for (FlatParameters& flat : unit->flats()) flat.update(rank_, step);
    }
  }

  [[nodiscard]] bool takes_outer_step(std::int64_t step) const {
    const std::int64_t every = rank_.scenario.recipe.outer.every;
    return every > 0 && step % every == 0;
  }

  [[nodiscard]] HostReport host_report() const {
    HostReport out;
    if (!rank_.host) return out;
    out.memory = memory_report(rank_.host->activations().memory());
    if (rank_.host->on_disk()) out.disk = memory_report(rank_.host->states().memory());
    for (const CopyRow& row : rank_.host->copies())
      out.copies.push_back({std::string{row.operation}, row.pass, row.copies, row.bytes});
    return out;
  }

  const RunOptions& options_;
  Rank rank_;
  Stage stage_;
  costmodel::Schedule schedule_;
  TokenSource tokens_;
  Tensor sums_;
  LossScale loss_scale_;
  double norm_ = 0;            // of the running step's gradients, in this replica
  bool outer_begun_ = false;   // outer steps have parameters to go out from
  std::int64_t skipped_ = 0;   // steps that the optimizer does not count
  OptimizerStep in_backward_;  // of the running step, where it updates in backward
  TimeMark begin_;
  bool times_calls_ = true;
  std::int64_t timed_steps_ = 0;
  std::vector<costmodel::Seconds> step_times_;
};

/// Ranks' reports, and with them the time of the slowest at every step.
void add_ranks(std::vector<RankReport> ranks, ExecutionReport& out) {
  out.ranks = std::move(ranks);
  for (std::size_t i = 0; i < out.steps.size(); ++i) {
    for (const RankReport& rank : out.ranks)
      out.steps[i].time = larger(out.steps[i].time, rank.step_times.at(i));
  }
}

/// All ranks know the same numbers; the one where they went wrong says so, and the others hear of it.
[[noreturn]] void end_with_fault(Communicator& world, const StepReport& step,
                                 const std::optional<NotFiniteOrigin>& origin) {
  const std::optional<int> culprit = rank_of_earliest(world, origin);
  const bool speaks = culprit ? *culprit == world.rank() : world.leads();
  if (!speaks) world.barrier("numbers that are not finite");
  const StepPlace where =
      culprit ? origin.value().place : StepPlace{.text = {}, .operation = "step.norm_and_loss"};
  const bool loss = !std::isfinite(step.loss);
  throw NotFinite{
      fmt::format(
          "step {}: the {} is {}: {}. Nothing is saved of this step. Try a smaller --learning-rate "
          "(it was {:.3g}), or go on from an earlier checkpoint with --load",
          step.step, loss ? "loss" : "gradient norm",
          std::isnan(loss ? step.loss : step.gradient_norm) ? "not a number (NaN)" : "infinite",
          culprit ? "first wrong in " + where.text : "every result of its passes is finite, their sum is not",
          step.learning_rate),
      where};
}

/// What has no room says where, unless an operation has said it.
template <class Place, class Run>
void saying_where(const Place& place, const Run& run) {
  try {
    run();
  } catch (OutOfMemory& error) {
    error.place_in(place());
    throw;
  }
}

bool any_rank(Communicator& world, bool mine) {
  const std::byte byte{mine};
  const auto all = world.gather_bytes({&byte, 1});
  return std::any_of(all.begin(), all.end(), [](const auto& bytes) { return bytes.front() != std::byte{0}; });
}

}  // namespace

ExecutionReport run_rank_steps(const costmodel::Scenario& sc, const RunOptions& options,
                               Communicator& world) {
  const std::unique_ptr<Device> device = options.make_device(world.rank());
  device->memory().set_limit(options.memory_limit);
  device->memory().keep_timeline(options.keep_timeline);
  const DeviceInUse in_use{world, *device};
  std::optional<RankTraining> made;
  saying_where([] { return StepPlace{.text = "parameters and optimizer states, before the first step"}; },
               [&] { made.emplace(sc, options, *device, world); });
  RankTraining& training = *made;
  ExecutionReport out;
  if (options.loaded) options.loaded(training.view(options.first_step, false));
  bool stopped = false;
  for (std::int64_t i = 1; i <= training.steps_in_all() && !stopped; ++i) {
    const std::int64_t step = options.first_step + i;
    saying_where([&] { return training.place(); }, [&] { out.steps.push_back(training.run(step)); });
    const StepReport& done = out.steps.back();
    const bool fails = training.fails(done);
    stopped = options.stop && any_rank(world, options.stop());
    if (options.stepped && !fails)
      options.stepped(training.view(step, stopped || i == training.steps_in_all()));
    // Collective: every rank takes part in what rank 0 is shown.
    if (options.progress) add_ranks(collect(world, training.report()), out);
    if (options.progress && world.leads()) options.progress(out);
    if (fails) end_with_fault(world, out.steps.back(), training.origin_of_failure());
  }
  training.check_offloaded();
  add_ranks(collect(world, training.report()), out);
  out.complete = !stopped;
  return out;
}

ExecutionReport run_steps(const costmodel::Scenario& sc, const RunOptions& options, RankBackend& backend) {
  ExecutionReport out;
  std::mutex mutex;
  RankOptions ranks = options.ranks;
  ranks.ranks = static_cast<int>(sc.layout.world_size());
  backend.run(ranks, [&](Communicator& world) {
    ExecutionReport mine = run_rank_steps(sc, options, world);
    const std::scoped_lock lock{mutex};
    if (out.ranks.empty()) out = std::move(mine);
  });
  return out;
}

}  // namespace hexaplan::validator
