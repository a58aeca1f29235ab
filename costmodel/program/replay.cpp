#include "costmodel/program/replay.h"

#include <algorithm>
#include <utility>

#include "costmodel/memory/outer_states.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/program/variants.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/units/mutation.h"

namespace hexaplan::costmodel::program {
namespace {

constexpr TensorKind kPassing = TensorKind::Transient;

Folded moved(double bytes) {
  Folded out;
  out.move(kPassing, bytes);
  return out;
}

/// Positions; tokens where they are looked up, and targets of every loss; the scalars that a step adds up.
double token_bytes(const LocalDims& dims, std::int64_t microbatches, std::size_t rows) {
  const double tokens = static_cast<double>(dims.tokens) * bytes_per_element(DType::Int32);
  return tokens * (1 + static_cast<double>(rows) * static_cast<double>(microbatches)) + kStepSumBytes;
}

void add(MemoryBreakdown& to, const MemoryBreakdown& states) {
  to.parameters += states.parameters;
  to.gradients += states.gradients;
  to.optimizer += states.optimizer;
}

}  // namespace

/// What is alive on a rank while parts of tasks run.
class StepReplay::Live {
 public:
  Live(const MemoryBreakdown& states, const MemoryBreakdown& host)
      : states_{states}, host_{host}, always_{states.total().value()}, on_host_{host.total()} {
    peaks.peak_instant = kIdle;
  }

  /// `to_host`: bytes of activations that go there.
  void run(const Folded& folded, Instant instant, double to_host = 0) {
    note_host(instant);
    if (to_host != 0) {
      host_.activations += Bytes{to_host};
      on_host_ = host_.total();
      note_host(instant);
    }
    const std::size_t i = index_of(instant);
    if (const double high = always_ + total_ + folded.rise(); high > most_[i]) {
      if (high > most_[index_of(peaks.peak_instant)]) peaks.peak_instant = instant;
      most_[i] = high;
      peaks.at[i] = with_states(passing_ + folded.highest());
    }
    passing_ = passing_ + folded.net();
    total_ += folded.change();
  }
  [[nodiscard]] MemoryBreakdown now() const { return with_states(passing_); }
  void forget_peaks() {
    peaks = {};
    most_ = {};
    most_on_host_ = {};
  }

  ReplayedMemory peaks;

 private:
  void note_host(Instant instant) {
    const std::size_t i = index_of(instant);
    if (on_host_ <= most_on_host_[i]) return;
    most_on_host_[i] = on_host_;
    peaks.host[i] = host_;
  }
  [[nodiscard]] MemoryBreakdown with_states(const PassBytes& passing) const {
    MemoryBreakdown out = states_;
    out.activations += Bytes{passing.activations};
    out.logits += Bytes{passing.logits};
    out.transient += Bytes{passing.transient};
    return out;
  }

  MemoryBreakdown states_, host_;
  double always_;
  Bytes on_host_;  // total of host_
  PassBytes passing_{};
  double total_ = 0;                      // of passing_
  std::array<double, kInstants> most_{};  // totals of peaks
  std::array<Bytes, kInstants> most_on_host_{};
};

StepReplay::StepReplay(const Scenario& scenario, std::span<const PassRow> passes)
    : sc_{scenario},
      dims_{local_dims(scenario)},
      sizes_{sizes_of(scenario, dims_)},
      types_{state_types(scenario)},
      passes_{passes},
      waits_{scenario.framework.replays_parameters &&
             gradient_reduction(scenario) == GradientReduction::Once},
      norm_apart_{runs_final_norm_apart(scenario)},
      hidden_states_{sizes_.bytes(
          {Rows::Hidden, Width::Hidden, casts_automatically(scenario) ? Type::Fp32 : Type::Activation})},
      chunk_layers_{costmodel::chunk_layers(scenario)} {
  const Layout& l = sc_.layout;
  const auto microbatches = microbatches_per_step(sc_);
  schedule_ = known_schedule(l.schedule, l.pp, static_cast<int>(microbatches), l.vpp);
  prepare_ends();
  const std::vector<StagePlan> plans = plan_chunks(sc_);
  std::vector<std::pair<ChunkPlan, Chunk>> folded_chunks;  // all different
  const auto chunk_of = [&](const ChunkPlan& plan) {
    auto known = std::find_if(folded_chunks.begin(), folded_chunks.end(),
                              [&](const auto& chunk) { return chunk.first == plan; });
    if (known == folded_chunks.end()) known = folded_chunks.insert(known, {plan, fold_chunk(plan)});
    return known->second;
  };
  for (int stage = 0; stage < l.pp; ++stage) {
    std::int64_t offloaded = first_offloaded_layers(sc_.recipe);
    MemoryBreakdown& states = states_.emplace_back();
    host_.emplace_back();
    updates_.push_back(0);
    std::vector<Chunk>& chunks = chunks_.emplace_back();
    std::size_t token_rows = 0;
    for (int c = 0; c < chunks_per_stage(l); ++c) {
      const StageChunk at{.stage = stage, .chunk = c};
      const ChunkPlan plan = plan_chunk(at, plans[place_in_plan(l, at)].total_recomputed(), offloaded);
      token_rows += (plan.first ? 1 : 0) + plan.losses;
      for (const Layer* layer : plan.layers) hold(layer->unit);
      for (const Layer* module : plan.modules) hold(module->unit);
      for (const Unit* unit : plan.owned) hold(*unit);
      chunks.push_back(chunk_of(plan));
    }
    if (sc_.framework.replays_parameters)
      states.transient += Bytes{token_bytes(dims_, microbatches, token_rows)};
  }
}

void StepReplay::hold(const Unit& unit) {
  add(states_.back(), unit.states);
  add(host_.back(), unit.host);
  if (!unit.in_backward) updates_.back() = std::max(updates_.back(), unit.update);
}

void StepReplay::gather(const Unit& unit, bool again, Folded& out) {
  const double most = again ? unit.most_gathering_again : unit.most_gathering;
  out.move(kPassing, most).move(kPassing, unit.gathered - most);
}

void StepReplay::reduce(const Unit& unit, Folded& out) {
  out.move(kPassing, unit.most_reducing).move(kPassing, -unit.most_reducing);
}

void StepReplay::close(const Unit& unit, double unsharded, Folded& out) {
  const double most = unit.in_backward ? unit.most_reducing : unit.most_closing;
  out.move(kPassing, most).move(kPassing, -most);
  if (unit.in_backward) out.move(kPassing, unit.update).move(kPassing, -unit.update);
  out.move(kPassing, -unsharded);
}

StepReplay::Gates StepReplay::gates_at(std::size_t index, bool split) const {
  if (!waits_) return {.open = index == 0, .close = index == 0 && !split};
  const bool first = (index & 1U) != 0, last = (index & 2U) != 0, completes = (index & 4U) != 0;
  return {.open = first, .close = completes && !split, .open_end = first, .close_end = last};
}

/// How far a stage is with one of its chunks, in micro-batches.
struct StepReplay::Progress {
  int all = 0, forward = 0, backward = 0, complete = 0;
  int open = 0;  // backward passes whose weight gradients wait

  /// The next task among those of which `begun` have begun.
  Turn next(int& begun) const {
    const int number = begun++;
    return {.first = number == 0, .last = number + 1 == all, .completes = complete == all, .open = open > 0};
  }
};

std::vector<StepReplay::Progress> StepReplay::before_first(int stage) const {
  std::vector<Progress> progress(chunks_[static_cast<std::size_t>(stage)].size());
  for (const Task& task : schedule_->stages[static_cast<std::size_t>(stage)])
    progress[static_cast<std::size_t>(task.chunk)].all += task.pass == TaskPass::Forward ? 1 : 0;
  return progress;
}

/// A loss and its backward follow what it reads at once.
template <class OnPart>
void StepReplay::walk_forward(const Chunk& chunk, std::size_t turn, const OnPart& part) {
  if (chunk.losses.empty()) part(chunk.forward[turn], kForward, chunk.on_host);
  double on_host = chunk.on_host;
  for (const Chunk::ToLoss& to : chunk.losses) {
    part(to.forward[turn], kForward, std::exchange(on_host, 0));
    part(chunk.loss, kLoss, 0);
    part(to.head_backward[turn], kHeadBackward, 0);
  }
}

template <class OnPart, class OnTask>
void StepReplay::walk(int stage, const OnPart& part, const OnTask& done) const {
  const auto at = static_cast<std::size_t>(stage);
  std::vector<Progress> progress = before_first(stage);
  for (const Task& task : schedule_->stages[at]) {
    const Chunk& chunk = chunks_[at][static_cast<std::size_t>(task.chunk)];
    Progress& p = progress[static_cast<std::size_t>(task.chunk)];
    switch (task.pass) {
      case TaskPass::Forward:
        walk_forward(chunk, waits_ ? index_of_turn(p.next(p.forward)) : 0, part);
        break;
      case TaskPass::Backward:
        ++p.complete;
        part(chunk.backward[index_of_turn(p.next(p.backward))], kBackward, -chunk.on_host);
        break;
      case TaskPass::BackwardInput:
        part(chunk.backward_input[index_of_turn(p.next(p.backward))], kBackward, -chunk.on_host);
        ++p.open;
        break;
      case TaskPass::BackwardWeight:
        part(chunk.later, kBackward, 0);
        --p.open;
        ++p.complete;
        part(p.complete == p.all || (!waits_ && p.open == 0) ? chunk.close : chunk.reduce, kBackward, 0);
        break;
    }
    done();
  }
}

ReplayedMemory StepReplay::stage(int stage) const {
  Live live{states_[static_cast<std::size_t>(stage)], host_[static_cast<std::size_t>(stage)]};
  live.run({}, kIdle);
  walk(
      stage,
      [&](const Folded& folded, Instant instant, double to_host) { live.run(folded, instant, to_host); },
      [] {});
  const double update = updates_[static_cast<std::size_t>(stage)];
  live.run(moved(update).move(kPassing, -update), kOptimizer);
  live.run({}, kIdle);
  return live.peaks;
}

std::vector<TaskMemory> StepReplay::tasks(int stage) const {
  Live live{states_[static_cast<std::size_t>(stage)], host_[static_cast<std::size_t>(stage)]};
  std::vector<TaskMemory> out;
  walk(
      stage,
      [&](const Folded& folded, Instant instant, double to_host) { live.run(folded, instant, to_host); },
      [&] {
        out.push_back({live.peaks.at, live.now()});
        live.forget_peaks();
      });
  return out;
}

StepReplay::Unit StepReplay::unit_of(const UnitSizes& sizes) const {
  Unit unit;
  for (const FlatSizes& f : sizes.flats) {
    const auto bytes = [](DType type, double elements) { return Bytes{elements * bytes_per_element(type)}; };
    const auto kept = [&](double elements) { return Bytes{parameter_bytes(sc_, f, elements)}; };
    const Bytes parameters = kept(f.padded()),
                gradients = f.trained ? bytes(types_.gradient, f.padded()) : Bytes{};
    add_passing(f, f.gathers() ? parameters.value() : 0, f.opens() ? gradients.value() : 0, unit);
    MemoryBreakdown& holder = f.parameters_on_host ? unit.host : unit.states;
    holder.parameters += f.stage >= 3 ? kept(f.shard()) : parameters;
    if (f.secondary > 0) unit.states.parameters += kept(f.padded() / f.secondary);
    if (!f.trained) continue;
    unit.in_backward = f.in_backward;
    const double on_host = f.on_host(), on_device = f.shard() - on_host;
    if (!f.in_backward) unit.states.gradients += f.stage >= 2 ? bytes(types_.gradient, on_device) : gradients;
    unit.host.gradients += bytes(DType::Fp32, on_host);
    for (const KeptState& state : kept_states(sc_, f)) {
      unit.states.optimizer += bytes(state.dtype, on_device / state.parameters);
      unit.host.optimizer += bytes(state.dtype, on_host / state.parameters);
    }
    unit.states.optimizer += bytes(DType::Fp32, f.shard() * outer_states_on_gpu(sc_.recipe.outer));
    unit.host.optimizer += bytes(DType::Fp32, f.shard() * outer_states_on_host(sc_.recipe.outer));
    unit.states.optimizer += bytes(DType::Fp32, f.factors.count());
    unit.states.optimizer += Bytes{f.matrix_state_bytes};
  }
  unit.update = update_buffer_bytes(sc_, sizes);
  return unit;
}

/// Buffers of a unit are gathered one after the other, and reduced so; each is closed when it is reduced.
void StepReplay::add_passing(const FlatSizes& f, double gathered, double unsharded, Unit& unit) {
  const double staged = f.gather_buffer_bytes(), reducing = f.reduction_buffer_bytes();
  unit.most_closing = std::max(unit.most_closing, reducing - unit.unsharded);
  unit.most_reducing = std::max(unit.most_reducing, reducing);
  unit.gathered += gathered;
  unit.unsharded += unsharded;
  unit.most_gathering = std::max(unit.most_gathering, unit.gathered + staged);
  unit.most_gathering_again =
      std::max(unit.most_gathering_again, unit.gathered + (f.secondary > 0 ? 0 : staged));
}

FoldedPhases StepReplay::folded(Part part, LayerClass kind, const Techniques& t) const {
  if (passes_.data() == all_passes().data()) {
    return variant_of(sc_, part, kind, t).footprint.fold(sizes_);
  }
  return Footprint{compile(forward_of(sc_, part, kind), of_layer(t, kind), passes_)}.fold(sizes_);
}

/// Output layer and loss by the rules of the framework profile: what comes and goes at either instant. The
/// gradient of the input takes its place.
FoldedPhases StepReplay::ruled_head() const {
  TensorLedger rows;
  append_loss_entries(sc_, dims_, rows);
  FoldedPhases phases{};
  for (const auto& [instant, phase] : {std::pair{kLoss, std::size_t{0}}, {kHeadBackward, std::size_t{1}}}) {
    const MemoryBreakdown at = sum_alive(rows, instant);
    phases[phase].move(TensorKind::Logits, at.logits.value()).move(kPassing, at.transient.value());
    phases[phase].move(TensorKind::Logits, -at.logits.value()).move(kPassing, -at.transient.value());
  }
  phases[1].relabel(kPassing, TensorKind::Activation, hidden_states_);
  return phases;
}

void StepReplay::prepare_ends() {
  const Techniques t = techniques_of(sc_, false);
  embedding_phases_ = folded(Part::Embedding, {}, t);
  head_phases_ = sc_.framework.keeps_what_backward_reads ? folded(Part::Head, {}, t) : ruled_head();
  if (norm_apart_) final_norm_phases_ = folded(Part::FinalNorm, {}, t);
  if (!sc_.framework.replays_parameters) return;
  embedding_ = unit_of(end_unit(sc_, UnitRole::Embedding));
  head_ = unit_of(end_unit(sc_, UnitRole::Head));
  if (copies_embedding(sc_)) tied_copy_ = unit_of(end_unit(sc_, UnitRole::TiedCopy));
  if (norm_apart_) final_norm_ = unit_of(end_unit(sc_, UnitRole::FinalNorm));
}

StepReplay::Phases StepReplay::folded_both(Part part, LayerClass kind, Techniques t) const {
  Phases phases{.whole = folded(part, kind, t), .split = {}};
  t.splits_backward = splits_backward(sc_.layout.schedule);
  phases.split = t.splits_backward ? folded(part, kind, t) : phases.whole;
  return phases;
}

StepReplay::Layer& StepReplay::layer_of(LayerClass kind, bool recomputed) {
  for (Layer& known : layers_) {
    if (known.kind == kind && known.recomputed == recomputed) return known;
  }
  Layer& layer = layers_.emplace_back();
  layer.kind = kind;
  layer.recomputed = recomputed;
  const Techniques t = techniques_of(sc_, recomputed);
  layer.layer = folded_both(Part::Layer, kind, t);
  if (kind.mtp) layer.before = folded_both(Part::Mtp, kind, t);
  if (kind.mtp && norm_apart_) {
    for (FoldedPhases* phases : {&layer.layer.whole, &layer.layer.split}) {
      (*phases)[0].then(final_norm_phases_[0]);
      (*phases)[1] = Folded{final_norm_phases_[1]}.then((*phases)[1]);
    }
  }
  if (sc_.framework.replays_parameters) layer.unit = unit_of(layer_unit(sc_, kind));
  if (recomputed && cuts_checkpoints(sc_)) layer.cut_over = sc_.layout.tp;
  return layer;
}

StepReplay::ChunkPlan StepReplay::plan_chunk(StageChunk at, int recomputed, std::int64_t& offloaded) {
  const Layout& l = sc_.layout;
  const auto place = static_cast<std::size_t>(chunk_position(l.schedule, l.pp, at));
  const auto here = [&](const std::optional<StageChunk>& other) { return other && other->stage == at.stage; };
  ChunkPlan plan{.first = place == 0, .last = place + 1 == chunk_layers_.size()};
  plan.next_here = here(next_chunk(l.schedule, l.pp, chunks_per_stage(l), at));
  plan.previous_here = here(previous_chunk(l.schedule, l.pp, at));
  std::int64_t number = 0;
  for (std::size_t i = 0; i < place; ++i) number += chunk_layers_[i];
  for (int i = 0; i < chunk_layers_[place]; ++i) {
    plan.layers.push_back(&layer_of(class_of_layer(sc_.model, number++), recomputed-- > 0));
    plan.offloaded.push_back(offloaded-- > 0);
  }
  if (plan.first) plan.owned.push_back(&embedding_);
  if (!plan.last) return plan;
  for (int i = 0; i < mtp_modules(sc_); ++i)
    plan.modules.push_back(&layer_of(layer_class_at(sc_.model, kMtpClass), recomputed-- > 0));
  plan.losses = norm_apart_ ? 1 + plan.modules.size() : 1;
  plan.words = copies_embedding(sc_) ? &tied_copy_ : &embedding_;
  if (norm_apart_) plan.owned.push_back(&final_norm_);
  plan.owned.push_back(&head_);
  plan.of_head.push_back(&head_);
  if (copies_embedding(sc_)) plan.owned.push_back(&tied_copy_);
  if (sc_.model.tied_embeddings) plan.of_head.push_back(plan.words);
  return plan;
}

StepReplay::Chunk StepReplay::fold_chunk(const ChunkPlan& plan) const {
  Chunk chunk;
  for (std::size_t turn = 0; turn < (waits_ ? kTurns : 2); ++turn) {
    chunk.backward[turn] = fold_backward(plan, false, gates_at(turn, false));
    chunk.backward_input[turn] = fold_backward(plan, true, gates_at(turn, true));
  }
  if (plan.last) {
    for (std::size_t loss = 0; loss < plan.losses; ++loss) chunk.losses.push_back(fold_to_loss(plan, loss));
    chunk.loss = head_phases_[0];
  } else {
    chunk.forward.fill(fold_forward(plan));
  }
  for (std::size_t i = 0; i < plan.layers.size(); ++i)
    chunk.on_host += plan.offloaded[i] ? kept_bytes(*plan.layers[i]) : 0;
  const auto finish = [&](const Layer& layer) {
    chunk.unsharded += layer.unit.unsharded;
    chunk.later.then(layer.layer.split[2]).then(layer.before.split[2]);
    if (!waits_) reduce(layer.unit, chunk.reduce);
    close(layer.unit, layer.unit.unsharded, chunk.close);
  };
  for (auto module = plan.modules.rbegin(); module != plan.modules.rend(); ++module) finish(**module);
  for (auto layer = plan.layers.rbegin(); layer != plan.layers.rend(); ++layer) finish(**layer);
  return chunk;
}

/// What a loss reads is made whole, and its gradients have a place.
void StepReplay::open_for_loss(const ChunkPlan& plan, std::size_t loss, const Gates& gates,
                               Folded& out) const {
  for (const Unit* unit : plan.of_head) {
    gather(*unit, false, out);
    const bool opens = gates.open_end && (loss == 0 || !collects(*unit));
    out.move(kPassing, opens ? unit->unsharded : 0);
  }
}

StepReplay::Chunk::ToLoss StepReplay::fold_to_loss(const ChunkPlan& plan, std::size_t loss) const {
  Chunk::ToLoss to;
  const Folded forward = loss == 0 ? fold_forward(plan) : fold_module_forward(plan, *plan.modules[loss - 1]);
  for (std::size_t turn = 0; turn < (waits_ ? kTurns : 2); ++turn) {
    const Gates gates = gates_at(turn, false);
    to.forward[turn] = forward;
    open_for_loss(plan, loss, gates, to.forward[turn]);
    to.head_backward[turn] = fold_head(plan, loss, gates);
  }
  return to;
}

/// What the last loss has read is freed.
Folded StepReplay::fold_head(const ChunkPlan& plan, std::size_t loss, const Gates& gates) const {
  const bool last = loss + 1 == plan.losses;
  Folded out = head_phases_[1];
  if (norm_apart_ && last && !mutant("what-the-last-loss-read-stays")) out.move(kPassing, -hidden_states_);
  for (const Unit* unit : plan.of_head) {
    out.move(kPassing, -unit->gathered);
    const bool closes = gates.close_end && (last || !collects(*unit)) && !waits_for_look_ups(*unit);
    if (closes) close(*unit, unit->unsharded, out);
  }
  return out;
}

/// From the embedding, or hidden states received, to hidden states sent, or to where the head begins. What an
/// offloaded layer keeps leaves when it has run, and comes back when its backward begins.
Folded StepReplay::fold_forward(const ChunkPlan& plan) const {
  Folded out;
  if (plan.first) {
    gather(embedding_, false, out);
    out.then(embedding_phases_[0]).move(kPassing, -embedding_.gathered);
  } else if (!plan.previous_here) {
    out.move(kPassing, hidden_states_);
  }
  for (std::size_t i = 0; i < plan.layers.size(); ++i)
    fold_layer_forward(*plan.layers[i], plan.offloaded[i], {}, out);
  if (plan.last && norm_apart_) {
    gather(final_norm_, false, out);
    out.then(final_norm_phases_[0]).move(kPassing, -final_norm_.gathered);
  }
  // Other profiles make every loss behind all modules.
  for (const Layer* module : plan.modules) {
    if (!norm_apart_) out.then(fold_module_forward(plan, *module));
  }
  if (!plan.last && !plan.next_here) out.move(kPassing, -hidden_states_);
  return out;
}

Folded StepReplay::fold_module_forward(const ChunkPlan& plan, const Layer& module) const {
  Folded look_up, out;
  gather(*plan.words, false, look_up);
  look_up.then(module.before.whole[0]).move(kPassing, -plan.words->gathered);
  fold_layer_forward(module, false, look_up, out);
  return out;
}

/// `before`: what stands before the layer in its unit.
void StepReplay::fold_layer_forward(const Layer& layer, bool offloaded, const Folded& before,
                                    Folded& out) const {
  gather(layer.unit, false, out);
  out.then(before).then(layer.layer.whole[0]);
  if (layer.cut_over > 1)
    out.move(TensorKind::Activation, kept_bytes(layer)).move(TensorKind::Activation, -left_bytes(layer));
  if (offloaded) out.move(TensorKind::Activation, -kept_bytes(layer));
  out.move(kPassing, -layer.unit.gathered);
}

/// The same way back. `split`: the weight gradients are put off.
Folded StepReplay::fold_backward(const ChunkPlan& plan, bool split, const Gates& gates) const {
  Folded out;
  if (plan.last) {
    out.relabel(TensorKind::Activation, kPassing, hidden_states_);
  } else if (!plan.next_here) {
    out.move(kPassing, hidden_states_);
  }
  if (plan.last) fold_modules_backward(plan, split, gates, out);
  for (std::size_t i = plan.layers.size(); i-- > 0;)
    fold_layer_backward(*plan.layers[i], plan.offloaded[i], split, gates, {}, out);
  if (plan.first) {
    fold_embedding_backward(gates, out);
  } else if (!plan.previous_here) {
    out.move(kPassing, -hidden_states_);
  }
  return out;
}

/// Modules, last one first, and the final norm below them. What a loss gave for the hidden states that a
/// module read is added to what the module gives.
void StepReplay::fold_modules_backward(const ChunkPlan& plan, bool split, const Gates& gates,
                                       Folded& out) const {
  for (std::size_t i = plan.modules.size(); i-- > 0;) {
    fold_layer_backward(*plan.modules[i], false, split, gates, fold_look_up_backward(plan, i, split, gates),
                        out);
    if (norm_apart_) out.move(TensorKind::Activation, -hidden_states_);
  }
  if (!norm_apart_) return;
  gather(final_norm_, true, out);
  out.move(kPassing, gates.open_end ? final_norm_.unsharded : 0);
  out.then(final_norm_phases_[1]).move(kPassing, -final_norm_.gathered);
  if (gates.close_end) close(final_norm_, final_norm_.unsharded, out);
}

/// The way to a module's layer, back: look-ups that run again read the table.
Folded StepReplay::fold_look_up_backward(const ChunkPlan& plan, std::size_t module, bool split,
                                         const Gates& gates) const {
  const Layer& layer = *plan.modules[module];
  const Unit& words = *plan.words;
  const bool once = collects(words);
  const bool opens = !once || (module + 1 == plan.modules.size() && !plan.reads_by_head(words));
  const bool closes = !once || (module == 0 && &words != &embedding_);
  Folded out;
  if (layer.recomputed) gather(words, true, out);
  out.move(kPassing, gates.open_end && opens ? words.unsharded : 0);
  out.then(layer.before.of(split)[1]).move(kPassing, layer.recomputed ? -words.gathered : 0);
  if (gates.close_end && closes) close(words, words.unsharded, out);
  return out;
}

/// `before`: as above, on the way back.
void StepReplay::fold_layer_backward(const Layer& layer, bool offloaded, bool split, const Gates& gates,
                                     const Folded& before, Folded& out) const {
  gather(layer.unit, true, out);
  out.move(kPassing, gates.open ? layer.unit.unsharded : 0);
  if (offloaded) out.move(TensorKind::Activation, kept_bytes(layer));
  if (layer.cut_over > 1)
    out.move(TensorKind::Activation, left_bytes(layer)).move(TensorKind::Activation, -kept_bytes(layer));
  out.then(layer.layer.of(split)[1]).then(before).move(kPassing, -layer.unit.gathered);
  if (split) return;
  // Nothing is updated of what another micro-batch still adds to.
  if (gates.close) {
    close(layer.unit, layer.unit.unsharded, out);
  } else if (!waits_) {
    reduce(layer.unit, out);
  }
}

void StepReplay::fold_embedding_backward(const Gates& gates, Folded& out) const {
  const bool read_by_others = shares_embedding(sc_) || (norm_apart_ && !copies_embedding(sc_));
  const bool opens = gates.open_end && !(collects(embedding_) && read_by_others);
  const bool reads = embedding_backward_reads_parameters(sc_);
  const double gathered = reads ? embedding_.gathered : 0;
  if (reads) gather(embedding_, true, out);
  out.move(kPassing, opens ? embedding_.unsharded : 0);
  out.then(embedding_phases_[1]).move(kPassing, -gathered);
  if (gates.close_end) close(embedding_, embedding_.unsharded, out);
  // What a frozen embedding has no use for is freed.
  if (adapters_are_operations(sc_) && !trains_embedding(sc_.recipe)) out.move(kPassing, -hidden_states_);
}

}  // namespace hexaplan::costmodel::program
