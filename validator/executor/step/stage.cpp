#include "validator/executor/step/stage.h"

#include <algorithm>
#include <cassert>

#include "costmodel/memory/flat_units.h"
#include "costmodel/program/compile.h"
#include "costmodel/program/layer_program.h"
#include "costmodel/program/variants.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/spec/stage_plan.h"
#include "validator/executor/parallel/context.h"
#include "validator/executor/parallel/dropout.h"

namespace hexaplan::validator {

using costmodel::DType;
using costmodel::Parameter;
using costmodel::Pass;
using costmodel::Task;
using costmodel::TaskPass;
using costmodel::TensorKind;

namespace {

namespace program = costmodel::program;

/// Weight of the modules' mean loss: NVIDIA/Megatron-LM's default of --mtp-loss-scaling-factor
/// (megatron/core/transformer/transformer_config.py), which DeepSeek-V3 used from its 10th trillion of tokens
/// on (λ, arXiv:2412.19437 §4.2).
constexpr double kMtpLossFactor = 0.1;
/// Nothing is looked up and no loss is made of it (Device::embedding_lookup, cross_entropy_gradient).
constexpr std::int32_t kNoToken = -1;

/// The executor's own habits: it always tells choices to those who need them, in one message each.
program::Techniques techniques_of(const costmodel::Scenario& scenario, bool recomputed) {
  program::Techniques techniques = program::techniques_of(scenario, recomputed);
  techniques.sums_choices = true;
  techniques.loss_reductions = 2;
  return techniques;
}

}  // namespace

RankPrograms::RankPrograms(const Rank& rank)
    : scenario_{rank.scenario},
      sizes_{program::sizes_of(rank.scenario, rank.dims)},
      embedding_{
          compile(forward_of(scenario_, program::Part::Embedding, {}), techniques_of(scenario_, false))},
      final_norm_{
          compile(forward_of(scenario_, program::Part::FinalNorm, {}), techniques_of(scenario_, false))},
      module_norm_{compile(forward_of(scenario_, program::Part::FinalNorm, {.mtp = true}),
                           techniques_of(scenario_, false))},
      head_{compile(forward_of(scenario_, program::Part::Head, {}), techniques_of(scenario_, false))} {}

const Runnable& RankPrograms::layer(costmodel::LayerClass kind, bool recomputed, bool splits_backward) {
  const Variant variant{kind.moe, kind.unrotated, recomputed, splits_backward};
  if (const auto known = layers_.find(variant); known != layers_.end()) return known->second;
  program::Techniques techniques = techniques_of(scenario_, recomputed);
  techniques.splits_backward = splits_backward;
  Runnable made{compile(program::forward_layer(scenario_.model, kind), techniques)};
  return layers_.emplace(variant, std::move(made)).first->second;
}

const Runnable& RankPrograms::before_layer(bool recomputed, bool splits_backward) {
  const Variant variant{.recomputed = recomputed, .splits_backward = splits_backward};
  if (const auto known = before_layers_.find(variant); known != before_layers_.end()) return known->second;
  program::Techniques techniques = techniques_of(scenario_, recomputed);
  techniques.splits_backward = splits_backward;
  Runnable made{compile(forward_of(scenario_, program::Part::Mtp, {}), techniques)};
  return before_layers_.emplace(variant, std::move(made)).first->second;
}

Stage::Stage(Rank& rank, std::uint64_t seed) : rank_{rank}, seed_{seed}, programs_{rank}, link_{rank} {
  plan_chunks(seed);
  const std::int64_t tokens = rank_.dims.tokens * costmodel::microbatches_per_step(rank_.scenario);
  const auto integers = [&](std::string_view name, std::int64_t count) {
    return rank_.device.allocate({name, TensorKind::Transient, DType::Int32}, count, 1);
  };
  positions_ = integers("batch.positions", rank_.dims.tokens);
  if (embedding_) ids_ = integers("batch.ids", tokens);
  if (head_) targets_ = integers("batch.targets", tokens * (1 + costmodel::mtp_modules(rank_.scenario)));
  losses_ = rank_.device.allocate({"loss.sum", TensorKind::Transient, DType::Fp32}, 1, 2);
  rank_.balance_loss = balance_loss();
}

int Stage::microbatches_of(int chunk) const {
  const auto all = static_cast<int>(costmodel::microbatches_per_step(rank_.scenario));
  const costmodel::MicrobatchRange range =
      costmodel::microbatches_of_chunk(rank_.scenario.layout.schedule, all, chunk);
  return range.end - range.first;
}

/// What of a step makes gradients of a unit of `chunk`: layers and norms in every micro-batch; every loss of
/// what it reads, and every look-up. A table that two chunks read is complete when both are through.
int Stage::gradients_of_unit(int index, int chunk) const {
  const costmodel::Scenario& sc = rank_.scenario;
  const int modules = costmodel::mtp_modules(sc), losses = 1 + modules;
  const int of_table = modules + (sc.model.tied_embeddings ? losses : 0);
  const int microbatches = microbatches_of(chunk);
  if (index == UnitPlan::kHead) return losses * microbatches;
  if (index == UnitPlan::kTiedCopy) return of_table * microbatches;
  if (index != UnitPlan::kEmbedding || costmodel::separates_ends(sc.layout)) return microbatches;
  const costmodel::Layout& l = sc.layout;
  const int end = costmodel::chunk_positions(l.schedule, l.pp, costmodel::chunks_per_stage(l)) - 1;
  const int copies = costmodel::model_copies(l.schedule);
  const costmodel::StageChunk last = costmodel::chunk_at(l.schedule, l.pp, end, copies - 1 - chunk % copies);
  return microbatches + of_table * microbatches_of(last.chunk);
}

void Stage::plan_chunks(std::uint64_t seed) {
  const costmodel::Scenario& sc = rank_.scenario;
  const std::vector<int> sizes = costmodel::chunk_layers(sc);
  const auto place = rank_.parameter_place();
  const auto unit = [&](int index, int chunk) {
    const bool mirrored = chunk > 0 && costmodel::model_copies(sc.layout.schedule) > 1;
    return Unit{rank_, plan_unit(sc, index, place), {gradients_of_unit(index, chunk), mirrored}, seed};
  };
  const int modules = costmodel::mtp_modules(sc);
  layers_.reserve(static_cast<std::size_t>(sc.model.layers + modules));  // units stay where they are
  const int stage = rank_.groups.pipeline->rank();
  std::int64_t offloaded = costmodel::first_offloaded_layers(sc.recipe);
  for (int c = 0; c < costmodel::chunks_per_stage(sc.layout); ++c) {
    ModelChunk chunk{.at = {.stage = stage, .chunk = c}};
    const int position = costmodel::chunk_position(sc.layout.schedule, sc.layout.pp, chunk.at);
    chunk.first = position == 0;
    chunk.last = position + 1 == static_cast<int>(sizes.size());
    if (chunk.first) embedding_.emplace(unit(UnitPlan::kEmbedding, c));
    int recomputed = costmodel::recomputed_layers(sc.recipe.recompute, static_cast<std::size_t>(stage));
    int layer = 0;
    for (int i = 0; i < position; ++i) layer += sizes[static_cast<std::size_t>(i)];
    for (int i = 0; i < sizes[static_cast<std::size_t>(position)]; ++i, ++layer) {
      chunk.layers.push_back(&layers_.emplace_back(unit(layer, c)));
      chunk.recomputed.push_back(recomputed-- > 0);
      chunk.offloaded.push_back(offloaded-- > 0);
    }
    for (int i = 0; chunk.last && i < modules; ++i)
      chunk.modules.push_back({&layers_.emplace_back(unit(layer++, c)), recomputed-- > 0});
    if (chunk.last) {
      head_.emplace(unit(UnitPlan::kHead, c));
      if (costmodel::runs_final_norm_apart(sc)) final_norm_.emplace(unit(UnitPlan::kFinalNorm, c));
      if (costmodel::copies_embedding(sc)) tied_copy_.emplace(unit(UnitPlan::kTiedCopy, c));
    }
    chunks_.push_back(std::move(chunk));
  }
}

void Stage::load_tokens(const TokenSource& source, std::int64_t step) {
  rank_.dropout_key = dropout_key(seed_, step);
  const costmodel::Scenario& sc = rank_.scenario;
  const std::int64_t microbatches = costmodel::microbatches_per_step(sc), b = sc.recipe.micro_batch;
  const std::int64_t replica = rank_.position(costmodel::Axis::Data);
  const std::vector<std::int32_t> places = local_positions(rank_);
  std::vector<std::int32_t> positions, ids;
  std::vector<std::vector<std::int32_t>> targets(1 + static_cast<std::size_t>(costmodel::mtp_modules(sc)));
  for (std::int64_t i = 0; i < b; ++i) positions.insert(positions.end(), places.begin(), places.end());
  for (std::int64_t i = 0; i < microbatches * b; ++i) {
    const std::int64_t row = (i / b * sc.layout.dp + replica) * b + i % b;  // in the replica's batch
    const std::int64_t index = step * sc.recipe.global_batch + rank_.first_sequence() + row;
    for (const std::int32_t place : places) {
      ids.push_back(source.at(index, place));
      // A module says a token further ahead; behind the sequence's last one there is none.
      std::int64_t ahead = place;
      for (std::vector<std::int32_t>& said : targets)
        said.push_back(++ahead <= sc.recipe.sequence ? source.at(index, ahead) : kNoToken);
    }
  }
  rank_.device.upload(positions_, positions);
  if (embedding_) rank_.device.upload(ids_, ids);
  for (std::size_t loss = 0; head_ && loss < targets.size(); ++loss) {
    const auto count = static_cast<std::int64_t>(targets[loss].size());
    rank_.device.upload(targets_.view().row_range(static_cast<std::int64_t>(loss) * count, count),
                        targets[loss]);
  }
}

View Stage::targets_of(int loss) const {
  const std::int64_t tokens = rank_.dims.tokens * costmodel::microbatches_per_step(rank_.scenario);
  return targets_.view().row_range(loss * tokens + rank_.microbatch * rank_.dims.tokens, rank_.dims.tokens);
}

View Stage::tokens_of(const Tensor& all) const {
  return all.view().row_range(rank_.microbatch * rank_.dims.tokens, rank_.dims.tokens);
}

void Stage::begin_step() {
  for (Unit* unit : units()) unit->begin_step(rank_);
  rank_.device.fill(losses_, 0);
}

void Stage::run(const std::vector<Task>& tasks) {
  for (const Task& task : tasks) {
    if (task.pass == TaskPass::BackwardInput)
      in_flight_[{task.microbatch, task.chunk}].splits_backward = true;
  }
  for (const Task& task : tasks) {
    const ModelChunk& chunk = chunks_[static_cast<std::size_t>(task.chunk)];
    const std::pair key{task.microbatch, task.chunk};
    rank_.microbatch = task.microbatch;
    InFlight& flight = in_flight_[key];
    switch (task.pass) {
      case TaskPass::Forward:
        forward(chunk, flight);
        break;
      case TaskPass::Backward:
        backward(chunk, flight);
        in_flight_.erase(key);
        break;
      case TaskPass::BackwardInput:
        backward(chunk, flight);
        break;
      case TaskPass::BackwardWeight:
        weight_gradients(chunk, flight);
        in_flight_.erase(key);
        break;
    }
  }
  rank_.microbatch = -1;
  assert(in_flight_.empty());
}

void Stage::forward(const ModelChunk& chunk, InFlight& flight) {
  rank_.enter(costmodel::kForward);
  rank_.clock.enter(Phase::Pipeline);
  Tensor x = chunk.first ? run_embedding(flight) : link_.receive(chunk.at, Direction::Forward);
  rank_.clock.enter(Phase::Forward);
  flight.layers.reserve(chunk.layers.size());
  const bool cuts = program::cuts_checkpoints(rank_.scenario);
  for (std::size_t i = 0; i < chunk.layers.size(); ++i) {
    Unit& unit = *chunk.layers[i];
    const costmodel::LayerClass kind = costmodel::class_of_layer(rank_.scenario.model, unit.index());
    Frame& frame = flight.layers.emplace_back(
        rank_, programs_.layer(kind, chunk.recomputed[i], flight.splits_backward), programs_.sizes());
    rank_.enter_layer(unit.index());
    unit.gather(rank_, Pass::Forward);
    frame.give_input(rank_, std::move(x));
    run_layer(unit, frame, program::Phase::Forward);
    x = frame.take_output();
    if (chunk.recomputed[i] && cuts) frame.cut_input(rank_);
    if (chunk.offloaded[i]) frame.offload(rank_);
    unit.release();
  }
  rank_.enter_layer(-1);
  if (chunk.last) {
    run_losses(chunk, flight, std::move(x));
  } else {
    rank_.clock.enter(Phase::Pipeline);
    link_.send(std::move(x), chunk.at, Direction::Forward);
  }
  rank_.clock.enter(Phase::Other);
}

void Stage::backward(const ModelChunk& chunk, InFlight& flight) {
  rank_.enter(costmodel::kBackward);
  rank_.clock.enter(Phase::Pipeline);
  Tensor d =
      chunk.last ? std::move(flight.loss_gradients.back()) : link_.receive(chunk.at, Direction::Backward);
  d.relabel({"hidden_states.gradient", TensorKind::Transient, rank_.activation});
  rank_.clock.enter(Phase::Backward);
  if (final_norm_ && chunk.last) d = modules_gradient(chunk, flight, std::move(d));
  const bool cuts = program::cuts_checkpoints(rank_.scenario);
  for (std::size_t i = chunk.layers.size(); i-- > 0;) {
    Unit& unit = *chunk.layers[i];
    Frame& frame = flight.layers[i];
    rank_.enter_layer(unit.index());
    unit.gather(rank_, Pass::BackwardData);
    unit.open_gradients(rank_);
    if (chunk.offloaded[i]) frame.fetch(rank_);
    if (chunk.recomputed[i] && cuts) frame.gather_input(rank_);
    frame.give_output_gradient(std::move(d));
    run_layer(unit, frame, program::Phase::Backward);
    d = frame.take_input_gradient();
    unit.release();
    // Gradients that nothing waits for are reduced while the layers below still run.
    if (!flight.splits_backward) unit.finish_gradients(rank_);
  }
  rank_.enter_layer(-1);
  if (chunk.first) {
    embedding_gradient(flight, std::move(d));
  } else {
    rank_.clock.enter(Phase::Pipeline);
    link_.send(std::move(d), chunk.at, Direction::Backward);
  }
  rank_.clock.enter(Phase::Other);
}

void Stage::weight_gradients(const ModelChunk& chunk, InFlight& flight) {
  rank_.enter(costmodel::kBackward);
  rank_.clock.enter(Phase::Backward);
  for (std::size_t i = chunk.modules.size(); i-- > 0;) {
    Unit& unit = *chunk.modules[i].unit;
    rank_.enter_layer(unit.index());
    run_layer(unit, flight.modules[i].layer, program::Phase::Later);
    run_layer(unit, flight.modules[i].before, program::Phase::Later);
  }
  for (std::size_t i = chunk.layers.size(); i-- > 0;) {
    rank_.enter_layer(chunk.layers[i]->index());
    run_layer(*chunk.layers[i], flight.layers[i], program::Phase::Later);
  }
  rank_.enter_layer(-1);
  for (std::size_t i = chunk.modules.size(); i-- > 0;) chunk.modules[i].unit->finish_gradients(rank_);
  for (std::size_t i = chunk.layers.size(); i-- > 0;) chunk.layers[i]->finish_gradients(rank_);
  rank_.clock.enter(Phase::Other);
}

/// A module's loss is a mean over the tokens that have a target; all modules together count as much as
/// kMtpLossFactor of one loss.
MicroBatch Stage::micro_batch(int loss) const {
  const costmodel::Recipe& recipe = rank_.scenario.recipe;
  const auto tokens = static_cast<double>(rank_.sequences_of_replica() * recipe.sequence);
  const auto sequence = static_cast<double>(recipe.sequence);
  const double weight =
      loss == 0 ? 1 : kMtpLossFactor / costmodel::mtp_modules(rank_.scenario) * sequence / (sequence - loss);
  return {.positions = positions_,
          .ids = loss > 0     ? targets_of(loss - 1)
                 : embedding_ ? tokens_of(ids_)
                              : View{},
          .targets = head_ ? targets_of(loss) : View{},
          .loss = this->loss(),
          .loss_factor = weight * rank_.loss_scale / tokens};
}

void Stage::run_layer(Unit& unit, Frame& frame, program::Phase phase) {
  run_phase(rank_, frame, phase, {.unit = &unit}, micro_batch());
}

Tensor Stage::run_embedding(InFlight& flight) {
  rank_.clock.enter(Phase::Forward);
  embedding_->gather(rank_, Pass::Forward);
  flight.embedding.emplace(rank_, programs_.embedding(), programs_.sizes());
  run_layer(*embedding_, *flight.embedding, program::Phase::Forward);
  embedding_->release();
  return flight.embedding->take_output();
}

/// Every loss follows what it reads at once, its backward included: logits are large.
void Stage::run_losses(const ModelChunk& chunk, InFlight& flight, Tensor x) {
  if (final_norm_) x = run_final_norm(flight, std::move(x));
  flight.loss_gradients.push_back(run_head(x, 0));
  flight.modules.reserve(chunk.modules.size());
  for (const ModelChunk::Module& module : chunk.modules) {
    const auto loss = static_cast<int>(flight.loss_gradients.size());
    rank_.enter(costmodel::kForward);
    rank_.clock.enter(Phase::Forward);
    x = run_module(module, loss, flight, std::move(x));
    flight.loss_gradients.push_back(run_head(x, loss));
  }
}

Tensor Stage::run_head(Tensor& x, int loss) {
  Unit& matrix = rank_.scenario.model.tied_embeddings ? words() : *head_;
  const bool is_embedding = matrix.index() == UnitPlan::kEmbedding;
  std::vector<Unit*> used{&*head_};
  if (&matrix != &*head_) used.push_back(&matrix);
  for (Unit* unit : used) {
    unit->gather(rank_, Pass::Forward);
    unit->open_gradients(rank_);
  }
  const Parameter table = is_embedding ? Parameter::EmbeddingWordWeight : Parameter::HeadWeight;
  const Weights weights{.unit = &*head_, .output_layer = {&matrix, name_of(table)}};
  const MicroBatch batch = micro_batch(loss);
  Frame frame{rank_, programs_.head(), programs_.sizes()};
  frame.give_input(rank_, std::move(x));
  rank_.enter(costmodel::kLoss);
  run_phase(rank_, frame, program::Phase::Forward, weights, batch);
  rank_.enter(costmodel::kHeadBackward);
  rank_.clock.enter(Phase::Backward);
  run_phase(rank_, frame, program::Phase::Backward, weights, batch);
  const bool others_read = loss < costmodel::mtp_modules(rank_.scenario);
  Tensor read = programs_.head().program.hands_input_on ? frame.take_input() : Tensor{};
  if (others_read) {
    x = std::move(read);
  } else {
    read.free();
  }
  for (Unit* unit : used) {
    unit->release();
    unit->finish_gradients(rank_);
  }
  return frame.take_input_gradient();
}

Tensor Stage::run_final_norm(InFlight& flight, Tensor x) {
  final_norm_->gather(rank_, Pass::Forward);
  Frame& frame = flight.final_norm.emplace(rank_, programs_.final_norm(false), programs_.sizes());
  frame.give_input(rank_, std::move(x));
  run_layer(*final_norm_, frame, program::Phase::Forward);
  final_norm_->release();
  return frame.take_output();
}

Tensor Stage::final_norm_gradient(InFlight& flight, Tensor d) {
  final_norm_->gather(rank_, Pass::BackwardData);
  final_norm_->open_gradients(rank_);
  flight.final_norm->give_output_gradient(std::move(d));
  run_layer(*final_norm_, *flight.final_norm, program::Phase::Backward);
  final_norm_->release();
  final_norm_->finish_gradients(rank_);
  return flight.final_norm->take_input_gradient();
}

Weights Stage::module_weights(const Unit& unit) {
  const bool copy = words().index() == UnitPlan::kTiedCopy;
  const Parameter table =
      copy ? costmodel::copied_table(rank_.scenario.model) : Parameter::EmbeddingWordWeight;
  return {.unit = &unit, .words = {&words(), name_of(table)}};
}

Tensor Stage::run_module(const ModelChunk::Module& module, int number, InFlight& flight, Tensor x) {
  Unit& unit = *module.unit;
  const costmodel::LayerClass kind = costmodel::class_of_layer(rank_.scenario.model, unit.index());
  const bool splits = flight.splits_backward;
  ModuleFrames& frames = flight.modules.emplace_back(
      ModuleFrames{.before = {rank_, programs_.before_layer(module.recomputed, splits), programs_.sizes()},
                   .layer = {rank_, programs_.layer(kind, module.recomputed, splits), programs_.sizes()},
                   .norm = {rank_, programs_.final_norm(true), programs_.sizes()}});
  rank_.enter_layer(unit.index());
  unit.gather(rank_, Pass::Forward);
  words().gather(rank_, Pass::Forward);
  frames.before.give_input(rank_, std::move(x));
  run_phase(rank_, frames.before, program::Phase::Forward, module_weights(unit), micro_batch(number));
  words().release();
  frames.layer.give_input(rank_, frames.before.take_output());
  run_layer(unit, frames.layer, program::Phase::Forward);
  frames.norm.give_input(rank_, frames.layer.take_output());
  run_layer(unit, frames.norm, program::Phase::Forward);
  unit.release();
  rank_.enter_layer(-1);
  return frames.norm.take_output();
}

/// Look-ups that run again read the table.
Tensor Stage::module_gradient(const ModelChunk::Module& module, int number, InFlight& flight, Tensor d) {
  Unit& unit = *module.unit;
  ModuleFrames& frames = flight.modules[static_cast<std::size_t>(number - 1)];
  rank_.enter_layer(unit.index());
  unit.gather(rank_, Pass::BackwardData);
  unit.open_gradients(rank_);
  frames.norm.give_output_gradient(std::move(d));
  run_layer(unit, frames.norm, program::Phase::Backward);
  frames.layer.give_output_gradient(frames.norm.take_input_gradient());
  run_layer(unit, frames.layer, program::Phase::Backward);
  if (module.recomputed) words().gather(rank_, Pass::BackwardData);
  words().open_gradients(rank_);
  frames.before.give_output_gradient(frames.layer.take_input_gradient());
  run_phase(rank_, frames.before, program::Phase::Backward, module_weights(unit), micro_batch(number));
  if (module.recomputed) words().release();
  words().finish_gradients(rank_);
  unit.release();
  if (!flight.splits_backward) unit.finish_gradients(rank_);
  rank_.enter_layer(-1);
  return frames.before.take_input_gradient();
}

/// What a loss gave for the hidden states that a module read is added to what the module gives.
Tensor Stage::modules_gradient(const ModelChunk& chunk, InFlight& flight, Tensor d) {
  for (std::size_t i = chunk.modules.size(); i-- > 0;) {
    d = module_gradient(chunk.modules[i], static_cast<int>(i) + 1, flight, std::move(d));
    rank_.device.add(d, flight.loss_gradients[i]);
    flight.loss_gradients[i].free();
  }
  return final_norm_gradient(flight, std::move(d));
}

void Stage::embedding_gradient(InFlight& flight, Tensor d) {
  const bool frozen = costmodel::adapters_are_operations(rank_.scenario) &&
                      !costmodel::trains_embedding(rank_.scenario.recipe);
  if (frozen) return d.free();
  const bool reads = costmodel::embedding_backward_reads_parameters(rank_.scenario);
  if (reads) embedding_->gather(rank_, Pass::BackwardData);
  embedding_->open_gradients(rank_);
  flight.embedding->give_output_gradient(std::move(d));
  run_layer(*embedding_, *flight.embedding, program::Phase::Backward);
  if (reads) embedding_->release();
  embedding_->finish_gradients(rank_);
}

void Stage::finish_gradients() {
  rank_.clock.enter(Phase::Reduction);
  for (Unit* unit : units()) {
    for (FlatParameters& flat : unit->flats()) flat.finish_reduction();
  }
  if (rank_.groups.mirror->size() > 1) add_mirrored_gradients();
  if (!costmodel::copies_embedding(rank_.scenario)) return;
  const Parameter copied = costmodel::copied_table(rank_.scenario.model);
  for (std::optional<Unit>* copy : {&embedding_, &tied_copy_}) {
    if (!copy->has_value()) continue;
    const Parameter table = copy == &embedding_ ? Parameter::EmbeddingWordWeight : copied;
    for (FlatParameters& flat : (*copy)->flats()) {
      if (flat.holds(name_of(table)))
        flat.add_across(rank_, *rank_.groups.tied_ends, "gradient.tied_embedding");
    }
  }
}

/// Both stages of a pair hold the same units, in another order.
void Stage::add_mirrored_gradients() {
  std::vector<Unit*> in_order = units();
  std::ranges::sort(in_order, {}, &Unit::index);
  for (Unit* unit : in_order) {
    for (FlatParameters& flat : unit->flats())
      flat.add_across(rank_, *rank_.groups.mirror, "gradient.mirror_reduce");
  }
}

std::vector<Unit*> Stage::units() {
  std::vector<Unit*> out;
  if (embedding_) out.push_back(&*embedding_);
  for (Unit& unit : layers_) out.push_back(&unit);
  if (final_norm_) out.push_back(&*final_norm_);
  if (head_) out.push_back(&*head_);
  if (tied_copy_) out.push_back(&*tied_copy_);
  return out;
}

}  // namespace hexaplan::validator
