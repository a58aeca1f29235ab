#include "costmodel/program/step_allocations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/parameter_memory.h"
#include "costmodel/program/sizes.h"
#include "costmodel/program/techniques.h"
#include "costmodel/program/variants.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::costmodel::program {
namespace {

using EventCall = AllocationEvent::Call;

// Streams beside the one that computes.
constexpr StreamNumber kGathers = 1, kReductions = 2, kMessages = 3;
constexpr std::uint32_t kNoTensor = ~std::uint32_t{0};
constexpr std::size_t kMostCalls = 1'000'000;
// What no row of the ledger names.
constexpr std::string_view kReceivedStates = "pipeline.received",
                           kReceivedGradient = "pipeline.received_gradient",
                           kHeadGradient = "head.input_gradient", kMadeGradient = "gradient.made";

/// A program's allocations in order, with its sizes.
struct PartCalls {
  struct Step {
    std::uint32_t buffer;
    bool frees;
    double bytes;
    std::string_view name;
  };
  std::array<std::vector<Step>, kPhases> phases;
  std::vector<bool> sent;  // by buffer: forward messages between tensor-parallel ranks read or write it
  std::size_t buffers = 0;
  std::optional<std::size_t> input, output, d_output, d_input;
};

PartCalls calls_of(const Scenario& sc, Part part, LayerClass kind, const Techniques& techniques,
                   const Sizes& sizes) {
  const Variant& variant = variant_of(sc, part, kind, techniques);
  const Lifetimes lives{variant.program};
  const auto buffer = [&](ValueId id) -> std::optional<std::size_t> {
    if (id == kNone) return std::nullopt;
    return lives.buffer(id);
  };
  PartCalls out;
  out.buffers = variant.program.values.size();
  out.input = buffer(variant.program.input);
  out.output = buffer(variant.program.output);
  out.d_output = buffer(variant.program.d_output);
  out.d_input = buffer(variant.program.d_input);
  out.sent.resize(out.buffers);
  for (const Op& op : variant.program.ops) {
    if (op.phase != Phase::Forward || op.group != Group::Tensor || !row_of(op.kind).message) continue;
    for (const ValueId id : op.reads) out.sent[lives.buffer(id)] = true;
    for (const ValueId id : op.writes) out.sent[lives.buffer(id)] = true;
  }
  variant.footprint.visit(sizes, [&](Phase phase, std::size_t at, double bytes, bool frees) {
    out.phases[position(phase)].push_back(
        {static_cast<std::uint32_t>(at), frees, bytes, name_of(variant.program.values[at].tensor)});
  });
  return out;
}

/// A row of the ledger, as blocks.
struct Blocks {
  double bytes = 0;  // of each
  int count = 0;
  std::uint8_t alive = kAlways;
  std::string_view name;
  StreamNumber stream = 0;
  std::vector<std::uint32_t> held{};
};

Blocks blocks_of(const TensorEntry& entry, double times) {
  const double count = entry.count * times;
  const double each = entry.elements * bytes_per_element(entry.dtype);
  // Shares of a tensor are one that is smaller.
  const int blocks = std::max(1, static_cast<int>(std::llround(std::floor(count))));
  return {.bytes = each * count / blocks, .count = blocks, .alive = entry.alive, .name = entry.name};
}

/// Makes the calls of one rank.
class CallRecorder {
 public:
  CallRecorder(const Scenario& scenario, int stage)
      : sc_{scenario},
        stage_{stage},
        dims_{local_dims(scenario)},
        sizes_{sizes_of(scenario, dims_)},
        plans_{plan_stages(scenario)},
        chunk_layers_{chunk_layers(scenario)},
        parameters_{scenario, used_classes(plans_)},
        hidden_{sizes_.bytes(
            {Rows::Hidden, Width::Hidden, casts_automatically(scenario) ? Type::Fp32 : Type::Activation})},
        schedule_{make_schedule(scenario.layout.schedule, scenario.layout.pp,
                                static_cast<int>(microbatches_per_step(scenario)), scenario.layout.vpp)} {
    const FrameworkProfile& f = sc_.framework;
    const bool bucketed =
        f.gradient_copies_are_buckets && sc_.layout.dp * sc_.layout.cp > 1 && sc_.layout.sharding.stage == 0;
    remakes_gradients_ = f.fresh_gradient_share > 0 && !bucketed && sc_.layout.sharding.stage < 3 &&
                         !trains_adapters(sc_.recipe);
    runs_ahead_ = f.unreclaimed_streams > 0 && sc_.layout.sp;
    embedding_ = calls_of(sc_, Part::Embedding, {}, techniques_of(sc_, false), sizes_);
    plan_chunks_here();
    list_states();
    list_buffers();
    if (runs_ahead_ && !parts_.empty()) lead_ = lead_over(parts_.begin()->second);
  }

  void start() {
    for (Blocks& row : at_start_) take(row);
  }
  void step() {
    ++now_at_.step;
    std::vector<bool> seen(chunks_.size(), false);
    for (const Task& task : schedule_.stages[static_cast<std::size_t>(stage_)]) {
      const auto c = static_cast<std::size_t>(task.chunk);
      now_at_.microbatch = task.microbatch;
      if (task.pass == TaskPass::Forward) {
        forward(chunks_[c], task.microbatch);
      } else if (task.pass == TaskPass::BackwardWeight) {
        enter(kBackward);
        weights(chunks_[c], task.microbatch);
      } else {
        backward(chunks_[c], task.microbatch, !seen[c], task.pass == TaskPass::Backward);
        seen[c] = true;
      }
    }
    now_at_.microbatch = now_at_.layer = -1;
    enter(kOptimizer);
    for (Blocks& row : at_update_) take(row);
    at_update_.clear();
    enter(kIdle);
    for (auto& fresh : fresh_) give(fresh);
    fresh_.clear();
  }

  NamedAllocations calls;

 private:
  struct Layer {
    const PartCalls* before = nullptr;  // of a multi-token-prediction module
    const PartCalls* layer = nullptr;
    std::size_t kind = 0;
  };
  struct Chunk {
    bool first = false, last = false;
    int begin = 0;  // its first layer
    std::vector<Layer> layers;
  };
  /// Buffers of one micro-batch in one part of the model.
  using Held = std::vector<std::uint32_t>;
  struct Passing {
    std::vector<std::pair<Held, Held>> layers;  // what precedes the layer, and the layer
    Held embedding;
    std::uint32_t d_head = kNoTensor;
  };

  std::uint32_t take(double bytes, std::string_view name, StreamNumber stream = 0) {
    if (bytes < 0.5) return kNoTensor;
    calls.events.push_back({EventCall::Allocate, next_, std::llround(bytes), stream});
    calls.origins.push_back(now_at_);
    calls.origins.back().tensor = name;
    calls.origins.back().instant = now_;
    return next_++;
  }
  void give(std::uint32_t& tensor) {
    if (tensor == kNoTensor) return;
    calls.events.push_back({.call = EventCall::Free, .tensor = tensor});
    if (tensor < recorded_.size() && recorded_[tensor]) ++waiting_;
    tensor = kNoTensor;
  }
  void take(Blocks& row) {
    for (int i = 0; i < row.count; ++i) row.held.push_back(take(row.bytes, row.name, row.stream));
  }
  void give(Blocks& row) {
    for (std::uint32_t& tensor : row.held) give(tensor);
    row.held.clear();
  }

  void record(std::uint32_t tensor) {
    calls.events.push_back({.call = EventCall::RecordStream, .tensor = tensor, .stream = kMessages});
    recorded_.resize(next_);
    recorded_[tensor] = true;
  }
  /// So far ahead that what waits in a layer is what the profile leaves unreclaimed.
  [[nodiscard]] double lead_over(const PartCalls& layer) const {
    double freed = 0;
    for (const PartCalls::Step& step : layer.phases[position(Phase::Forward)])
      freed += step.frees && layer.sent[step.buffer] ? step.bytes : 0;
    const double stream = static_cast<double>(dims_.tokens * dims_.hidden) * (1 + 2.0 / sc_.layout.tp) *
                          bytes_per_element(activation_dtype(sc_.recipe.precision));
    return freed > 0 ? std::min(1.0, sc_.framework.unreclaimed_streams * stream / freed) : 0;
  }
  /// The host has given the device another layer; the device is behind by a share of all since they met.
  void advance() {
    if (!runs_ahead_) return;
    freed_by_.push_back(waiting_);
    const auto done = static_cast<std::size_t>(static_cast<double>(freed_by_.size()) * (1 - lead_));
    const std::int64_t passed = done == 0 ? 0 : freed_by_[done - 1];
    calls.events.push_back({.call = EventCall::Complete, .bytes = waiting_ - passed, .stream = kMessages});
  }
  void meet() {
    if (!runs_ahead_) return;
    calls.events.push_back({.call = EventCall::Complete, .stream = kMessages});
    freed_by_.clear();
    waiting_ = 0;
  }

  /// What is not alive at `instant` goes, what is comes.
  void enter(Instant instant) {
    if (instant == now_) return;
    now_ = instant;
    for (Blocks& row : by_instant_) {
      if ((row.alive & instant) == 0 && !row.held.empty()) give(row);
    }
    for (Blocks& row : by_instant_) {
      if ((row.alive & instant) != 0 && row.held.empty()) take(row);
    }
  }

  void plan_chunks_here();
  void list_states();
  void list_state(const TensorEntry& entry, double times, bool master, std::vector<Blocks>& fresh);
  void list_part(const TensorLedger& ledger, double times, std::vector<Blocks>& fresh,
                 std::vector<double>& made);
  void list_buffers();
  const PartCalls* part(Part part, LayerClass kind, bool recomputed);

  void run(const PartCalls& part, Phase phase, Held& held) {
    for (const PartCalls::Step& step : part.phases[position(phase)]) {
      std::uint32_t& tensor = held[step.buffer];
      if (step.frees) {
        give(tensor);
        continue;
      }
      tensor = take(step.bytes, step.name);
      if (runs_ahead_ && phase == Phase::Forward && part.sent[step.buffer] && tensor != kNoTensor)
        record(tensor);
    }
  }
  /// `stream`: the hidden states that come in, and go out.
  void run_forward(const PartCalls& part, Held& held, std::uint32_t& stream) {
    held.assign(part.buffers, kNoTensor);
    if (part.input) held[*part.input] = stream;
    run(part, Phase::Forward, held);
    stream = std::exchange(held[*part.output], kNoTensor);
  }
  void run_backward(const PartCalls& part, Held& held, std::uint32_t& stream) {
    held[*part.d_output] = stream;
    run(part, Phase::Backward, held);
    stream = part.d_input ? std::exchange(held[*part.d_input], kNoTensor) : kNoTensor;
  }

  void forward(const Chunk& chunk, int microbatch);
  void head(Passing& passing, std::uint32_t stream);
  void backward(const Chunk& chunk, int microbatch, bool first, bool whole);
  void weights(const Chunk& chunk, int microbatch);
  /// What autograd makes of the parameters' gradients in one backward pass.
  void make_gradients(const std::vector<double>& sizes) {
    for (const double bytes : sizes) made_.push_back(take(bytes, kMadeGradient));
  }
  void open(const std::vector<Blocks>& rows) {
    for (const Blocks& row : rows) {
      fresh_.push_back(row);
      take(fresh_.back());
    }
  }

  const Scenario& sc_;
  int stage_;
  LocalDims dims_;
  Sizes sizes_;
  std::vector<StagePlan> plans_;
  std::vector<int> chunk_layers_;
  ParameterMemory parameters_;
  double hidden_;  // bytes
  Schedule schedule_;
  PartCalls embedding_;
  std::map<std::array<int, 3>, PartCalls> parts_;
  std::vector<Chunk> chunks_;
  std::vector<Blocks> at_start_, at_update_;  // that stay for good
  std::vector<Blocks> by_instant_;
  /// Gradients that backward makes, by class of layer and of either end.
  std::array<std::vector<Blocks>, kLayerClasses> fresh_layer_;
  std::vector<Blocks> fresh_embedding_, fresh_head_;
  std::vector<Blocks> fresh_;  // that there are
  /// True where each backward pass makes all of its gradients anew before they are added to those that stay.
  bool remakes_gradients_ = false;
  std::array<std::vector<double>, kLayerClasses> made_layer_;
  std::vector<double> made_embedding_, made_head_;
  std::vector<std::uint32_t> made_;
  /// True where the host runs ahead of messages that have a stream of their own.
  bool runs_ahead_ = false;
  double lead_ = 0;                     // share of the forward passes since they met
  std::vector<bool> recorded_;          // by tensor: a message uses it
  std::int64_t waiting_ = 0;            // of them, that were freed since they met
  std::vector<std::int64_t> freed_by_;  // … by the end of each layer
  std::map<std::pair<const Chunk*, int>, Passing> passing_;
  Instant now_ = kIdle;
  AllocationOrigin now_at_;
  std::uint32_t next_ = 0;
};

const PartCalls* CallRecorder::part(Part part, LayerClass kind, bool recomputed) {
  const std::array<int, 3> key{static_cast<int>(part), index_of(kind), recomputed ? 1 : 0};
  const auto found = parts_.find(key);
  if (found != parts_.end()) return &found->second;
  Techniques t = techniques_of(sc_, recomputed);
  t.splits_backward = part == Part::Layer && splits_backward(sc_.layout.schedule);
  return &parts_.emplace(key, calls_of(sc_, part, kind, t, sizes_)).first->second;
}

void CallRecorder::plan_chunks_here() {
  const Layout& l = sc_.layout;
  const std::vector<StagePlan> plans = plan_chunks(sc_);
  for (int c = 0; c < chunks_per_stage(l); ++c) {
    const StageChunk at{.stage = stage_, .chunk = c};
    int recomputed = plans[place_in_plan(l, at)].total_recomputed();
    const auto place = static_cast<std::size_t>(chunk_position(l.schedule, l.pp, at));
    Chunk& chunk = chunks_.emplace_back();
    chunk.first = place == 0;
    chunk.last = place + 1 == chunk_layers_.size();
    std::int64_t number = 0;
    for (std::size_t i = 0; i < place; ++i) number += chunk_layers_[i];
    chunk.begin = static_cast<int>(number);
    const auto add = [&](LayerClass kind) {
      const bool again = recomputed-- > 0;
      chunk.layers.push_back({.before = kind.mtp ? part(Part::Mtp, kind, again) : nullptr,
                              .layer = part(Part::Layer, kind, again),
                              .kind = static_cast<std::size_t>(index_of(kind))});
    };
    for (int i = 0; i < chunk_layers_[place]; ++i) add(class_of_layer(sc_.model, number++));
    if (!chunk.last) continue;
    for (int i = 0; i < mtp_modules(sc_); ++i) add(layer_class_at(sc_.model, kMtpClass));
  }
}

/// Gradients that are not there between steps appear with the backward of what they belong to; moments with
/// the first update.
void CallRecorder::list_state(const TensorEntry& entry, double times, bool master,
                              std::vector<Blocks>& fresh) {
  Blocks row = blocks_of(entry, times);
  if (entry.kind == TensorKind::OptimizerState && !master) {
    at_update_.push_back(row);
  } else if (entry.alive == kAlways) {
    at_start_.push_back(row);
  } else if (entry.kind == TensorKind::Gradient && (entry.alive & kOptimizer) != 0) {
    fresh.push_back(blocks_of(entry, 1));
    if (gathers_layers(sc_)) fresh.back().stream = kReductions;
  } else {
    by_instant_.push_back(row);
  }
}

void CallRecorder::list_part(const TensorLedger& ledger, double times, std::vector<Blocks>& fresh,
                             std::vector<double>& made) {
  const bool masters = state_types(sc_).master;
  std::string_view updated;  // the parameter whose states come
  for (const TensorEntry& entry : ledger) {
    const bool state = entry.kind == TensorKind::OptimizerState;
    const bool master = masters && state && entry.name != updated;
    if (state) updated = entry.name;
    list_state(entry, times, master, fresh);
    if (remakes_gradients_ && entry.kind == TensorKind::Parameter) made.push_back(entry.size().value());
  }
}

void CallRecorder::list_states() {
  const StagePlan& plan = plans_[static_cast<std::size_t>(stage_)];
  for (std::size_t c = 0; c < kLayerClasses; ++c) {
    if (plan.layers[c] > 0)
      list_part(parameters_.layer_states(c), plan.layers[c], fresh_layer_[c], made_layer_[c]);
  }
  if (plan.embedding > 0)
    list_part(parameters_.embedding_states(), plan.embedding, fresh_embedding_, made_embedding_);
  if (plan.head > 0) list_part(parameters_.head_states(), plan.head, fresh_head_, made_head_);
  for (const TensorEntry& entry : parameters_.buffers(sc_, plan)) {
    Blocks row = blocks_of(entry, 1);
    if (entry.name == "parameter.prefetched") row.stream = kGathers;
    if (entry.name == "parameter.gathered" && !sc_.framework.gathers_by_module) {
      // The running layer's parameters are the stream's that computes; the next ones arrive in their own.
      const double ahead = sc_.framework.gather_prefetch_layers / (1 + sc_.framework.gather_prefetch_layers);
      Blocks next = row;
      next.stream = kGathers;
      next.bytes *= ahead;
      row.bytes *= 1 - ahead;
      by_instant_.push_back(next);
    }
    (entry.alive == kAlways ? at_start_ : by_instant_).push_back(row);
  }
}

void CallRecorder::list_buffers() {
  TensorLedger rows;
  append_stream_buffers(sc_, dims_, rows);
  append_gather_buffers(sc_, dims_, rows);
  TensorLedger device;
  append_device_entries(sc_, {}, device);
  std::copy_if(device.begin(), device.end(), std::back_inserter(rows),
               [](const TensorEntry& e) { return e.kind == TensorKind::Transient; });
  const double head = plans_[static_cast<std::size_t>(stage_)].head;
  for (const TensorEntry& entry : rows)
    (entry.alive == kAlways ? at_start_ : by_instant_).push_back(blocks_of(entry, 1));
  if (head <= 0) return;
  TensorLedger loss;
  append_loss_entries(sc_, dims_, loss);
  for (const TensorEntry& entry : loss) by_instant_.push_back(blocks_of(entry, head));
}

/// From the embedding, or hidden states received, to hidden states sent, or to the loss.
void CallRecorder::forward(const Chunk& chunk, int microbatch) {
  enter(kForward);
  Passing& passing = passing_[{&chunk, microbatch}];
  passing.layers.resize(chunk.layers.size());
  std::uint32_t stream = kNoTensor;
  if (chunk.first) {
    run_forward(embedding_, passing.embedding, stream);
  } else {
    stream = take(hidden_, kReceivedStates);
  }
  for (std::size_t i = 0; i < chunk.layers.size(); ++i) {
    const Layer& layer = chunk.layers[i];
    now_at_.layer = chunk.begin + static_cast<int>(i);
    if (layer.before != nullptr) run_forward(*layer.before, passing.layers[i].first, stream);
    run_forward(*layer.layer, passing.layers[i].second, stream);
    advance();
  }
  now_at_.layer = -1;
  if (chunk.last) {
    head(passing, stream);
  } else {
    give(stream);
  }
}

void CallRecorder::head(Passing& passing, std::uint32_t stream) {
  enter(kLoss);
  enter(kHeadBackward);
  passing.d_head = take(hidden_, kHeadGradient);
  give(stream);
}

void CallRecorder::backward(const Chunk& chunk, int microbatch, bool first, bool whole) {
  Passing& passing = passing_.at({&chunk, microbatch});
  if (chunk.last && first) open(fresh_head_);
  enter(kBackward);
  meet();
  std::uint32_t stream =
      chunk.last ? std::exchange(passing.d_head, kNoTensor) : take(hidden_, kReceivedGradient);
  if (chunk.last) make_gradients(made_head_);
  for (std::size_t i = chunk.layers.size(); i-- > 0;) {
    const Layer& layer = chunk.layers[i];
    now_at_.layer = chunk.begin + static_cast<int>(i);
    run_backward(*layer.layer, passing.layers[i].second, stream);
    if (layer.before != nullptr) run_backward(*layer.before, passing.layers[i].first, stream);
    make_gradients(made_layer_[layer.kind]);
    if (first) open(fresh_layer_[layer.kind]);
  }
  now_at_.layer = -1;
  if (chunk.first) {
    run_backward(embedding_, passing.embedding, stream);
    give(passing.embedding[*embedding_.d_output]);  // what a frozen embedding has no use for
    make_gradients(made_embedding_);
    if (first) open(fresh_embedding_);
  }
  give(stream);
  for (std::uint32_t& tensor : made_) give(tensor);
  made_.clear();
  if (whole) passing_.erase({&chunk, microbatch});
}

/// Weight gradients that were put off.
void CallRecorder::weights(const Chunk& chunk, int microbatch) {
  Passing& passing = passing_.at({&chunk, microbatch});
  for (std::size_t i = chunk.layers.size(); i-- > 0;) {
    now_at_.layer = chunk.begin + static_cast<int>(i);
    run(*chunk.layers[i].layer, Phase::Later, passing.layers[i].second);
  }
  now_at_.layer = -1;
  passing_.erase({&chunk, microbatch});
}

/// The same step with fewer micro-batches, where the pipeline only repeats itself in between.
Scenario repeating(Scenario sc) {
  const std::int64_t enough = std::int64_t{4} * sc.layout.pp;
  if (sc.layout.schedule != ScheduleKind::GPipe && microbatches_per_step(sc) > enough)
    sc.recipe.global_batch = enough * sc.recipe.micro_batch * sc.layout.batch_ranks();
  return sc;
}

}  // namespace

std::optional<std::string_view> not_simulated(const Scenario& sc) {
  if (!sc.framework.caching_allocator) return "the framework has an allocator of its own";
  if (const auto gap = first_gap(sc)) return gap;
  if (model_copies(sc.layout.schedule) > 1) return "DualPipe holds two copies of the model";
  if ((sc.recipe.offload & kOffloadActivations) != 0) return "offloaded activations leave at any time";
  if (cuts_checkpoints(sc)) return "checkpoints are cut among ranks";
  return std::nullopt;
}

std::optional<NamedAllocations> named_allocations(const Scenario& scenario, int stage, int steps) {
  if (not_simulated(scenario)) return std::nullopt;
  const Scenario sc = repeating(scenario);
  CallRecorder recorder{sc, stage};
  recorder.start();
  for (int i = 0; i < steps; ++i) {
    recorder.step();
    if (recorder.calls.events.size() > kMostCalls) return std::nullopt;
  }
  return std::move(recorder.calls);
}

std::optional<std::vector<AllocationEvent>> step_allocations(const Scenario& scenario, int stage, int steps) {
  auto named = named_allocations(scenario, stage, steps);
  if (!named) return std::nullopt;
  return std::move(named->events);
}

bool CallRunner::make(const AllocationEvent& call) {
  switch (call.call) {
    case EventCall::Allocate: {
      const auto id = allocator_.allocate(call.bytes, call.stream);
      ids_.push_back(id.value_or(0));
      return id.has_value();
    }
    case EventCall::Free:
      allocator_.free(ids_[call.tensor]);
      return true;
    case EventCall::RecordStream:
      allocator_.record_stream(ids_[call.tensor], call.stream);
      return true;
    case EventCall::Complete:
      allocator_.complete(call.stream, call.bytes);
      return true;
  }
  return true;
}

SimulatedAllocator run_calls(const std::vector<AllocationEvent>& calls, const AllocatorSettings& settings) {
  CachingAllocator allocator{settings};
  CallRunner runner{allocator};
  SimulatedAllocator out;
  for (const AllocationEvent& call : calls) {
    ++out.calls;
    out.ran_out = !runner.make(call);
    if (out.ran_out) break;
  }
  out.use = allocator.use();
  return out;
}

}  // namespace hexaplan::costmodel::program
