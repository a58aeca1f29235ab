#include "validator/executor/step/stage.h"

#include <algorithm>
#include <cassert>

#include "costmodel/memory/flat_units.h"
#include "costmodel/program/compile.h"
#include "costmodel/program/layer_program.h"
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
          compile(program::forward_embedding(rank.scenario.model), techniques_of(rank.scenario, false))},
      head_{compile(program::forward_head(rank.scenario.model, costmodel::fuses_cross_entropy(rank.scenario)),
                    techniques_of(rank.scenario, false))} {}

const Runnable& RankPrograms::layer(costmodel::LayerClass kind, bool recomputed, bool splits_backward) {
  const Variant variant{kind.moe, kind.unrotated, recomputed, splits_backward};
  if (const auto known = layers_.find(variant); known != layers_.end()) return known->second;
  program::Techniques techniques = techniques_of(scenario_, recomputed);
  techniques.splits_backward = splits_backward;
  Runnable made{compile(program::forward_layer(scenario_.model, kind), techniques)};
  return layers_.emplace(variant, std::move(made)).first->second;
}

Stage::Stage(Rank& rank, std::uint64_t seed) : rank_{rank}, seed_{seed}, programs_{rank}, link_{rank} {
  plan_chunks(seed);
  const std::int64_t tokens = rank_.dims.tokens * costmodel::microbatches_per_step(rank_.scenario);
  const auto integers = [&](std::string_view name, std::int64_t count) {
    return rank_.device.allocate({name, TensorKind::Transient, DType::Int32}, count, 1);
  };
  positions_ = integers("batch.positions", rank_.dims.tokens);
  if (embedding_) ids_ = integers("batch.ids", tokens);
  if (head_) targets_ = integers("batch.targets", tokens);
  losses_ = rank_.device.allocate({"loss.sum", TensorKind::Transient, DType::Fp32}, 1, 2);
  rank_.balance_loss = balance_loss();
}

void Stage::plan_chunks(std::uint64_t seed) {
  const costmodel::Scenario& sc = rank_.scenario;
  const std::vector<int> sizes = costmodel::chunk_layers(sc);
  const auto place = rank_.parameter_place();
  const bool shared = sc.model.tied_embeddings && !costmodel::separates_ends(sc.layout);
  const auto unit = [&](int index) {
    const int uses = shared && index == UnitPlan::kEmbedding ? 2 : 1;
    return Unit{rank_, plan_unit(sc, index, place), uses, seed};
  };
  layers_.reserve(static_cast<std::size_t>(sc.model.layers));  // units stay where they are
  const int stage = rank_.groups.pipeline->rank();
  int recomputed = costmodel::plan_stages(sc)[static_cast<std::size_t>(stage)].recomputed;
  std::int64_t offloaded = costmodel::first_offloaded_layers(sc.recipe);
  for (int c = 0; c < costmodel::chunks_per_stage(sc.layout); ++c) {
    ModelChunk chunk{.position = position_of_chunk(sc.layout, stage, c)};
    chunk.first = chunk.position == 0;
    chunk.last = chunk.position + 1 == static_cast<int>(sizes.size());
    if (chunk.first) embedding_.emplace(unit(UnitPlan::kEmbedding));
    int layer = 0;
    for (int i = 0; i < chunk.position; ++i) layer += sizes[static_cast<std::size_t>(i)];
    for (int i = 0; i < sizes[static_cast<std::size_t>(chunk.position)]; ++i, ++layer) {
      chunk.layers.push_back(&layers_.emplace_back(unit(layer)));
      chunk.recomputed.push_back(recomputed-- > 0);
      chunk.offloaded.push_back(offloaded-- > 0);
    }
    if (chunk.last) head_.emplace(unit(UnitPlan::kHead));
    chunks_.push_back(std::move(chunk));
  }
  head_words_ = !sc.model.tied_embeddings;
  if (head_ && sc.model.tied_embeddings && costmodel::separates_ends(sc.layout))
    tied_copy_.emplace(unit(UnitPlan::kTiedCopy));
}

void Stage::load_tokens(const TokenSource& source, std::int64_t step) {
  rank_.dropout_key = dropout_key(seed_, step);
  const costmodel::Scenario& sc = rank_.scenario;
  const std::int64_t microbatches = costmodel::microbatches_per_step(sc), b = sc.recipe.micro_batch;
  const std::int64_t replica = rank_.position(costmodel::Axis::Data);
  const std::vector<std::int32_t> places = local_positions(rank_);
  std::vector<std::int32_t> positions, ids, targets;
  for (std::int64_t i = 0; i < b; ++i) positions.insert(positions.end(), places.begin(), places.end());
  for (std::int64_t i = 0; i < microbatches * b; ++i) {
    const std::int64_t row = (i / b * sc.layout.dp + replica) * b + i % b;  // in the global batch
    const std::int64_t index = step * sc.recipe.global_batch + row;
    for (const std::int32_t place : places) {
      ids.push_back(source.at(index, place));
      targets.push_back(source.at(index, place + 1));
    }
  }
  rank_.device.upload(positions_, positions);
  if (embedding_) rank_.device.upload(ids_, ids);
  if (head_) rank_.device.upload(targets_, targets);
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
  Tensor x = chunk.first ? run_embedding(flight)
                         : link_.receive(chunk.position, chunk.position - 1, Direction::Forward);
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
    flight.head_gradient = run_head(std::move(x));
  } else {
    rank_.clock.enter(Phase::Pipeline);
    link_.send(std::move(x), chunk.position + 1, Direction::Forward);
  }
  rank_.clock.enter(Phase::Other);
}

void Stage::backward(const ModelChunk& chunk, InFlight& flight) {
  rank_.enter(costmodel::kBackward);
  rank_.clock.enter(Phase::Pipeline);
  Tensor d = chunk.last ? std::move(flight.head_gradient)
                        : link_.receive(chunk.position, chunk.position + 1, Direction::Backward);
  d.relabel({"hidden_states.gradient", TensorKind::Transient, rank_.activation});
  rank_.clock.enter(Phase::Backward);
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
    link_.send(std::move(d), chunk.position - 1, Direction::Backward);
  }
  rank_.clock.enter(Phase::Other);
}

void Stage::weight_gradients(const ModelChunk& chunk, InFlight& flight) {
  rank_.enter(costmodel::kBackward);
  rank_.clock.enter(Phase::Backward);
  for (std::size_t i = chunk.layers.size(); i-- > 0;) {
    rank_.enter_layer(chunk.layers[i]->index());
    run_layer(*chunk.layers[i], flight.layers[i], program::Phase::Later);
  }
  rank_.enter_layer(-1);
  for (std::size_t i = chunk.layers.size(); i-- > 0;) chunk.layers[i]->finish_gradients(rank_);
  rank_.clock.enter(Phase::Other);
}

MicroBatch Stage::micro_batch() const {
  const auto tokens = static_cast<double>(costmodel::tokens_per_step(rank_.scenario.recipe));
  return {.positions = positions_,
          .ids = embedding_ ? tokens_of(ids_) : View{},
          .targets = head_ ? tokens_of(targets_) : View{},
          .loss = loss(),
          .loss_factor = rank_.loss_scale / tokens};
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

/// Logits are large, so that backward follows at once.
Tensor Stage::run_head(Tensor x) {
  Unit& matrix = words();
  const bool is_embedding = matrix.index() == UnitPlan::kEmbedding;
  std::vector<Unit*> used{&*head_};
  if (&matrix != &*head_) used.push_back(&matrix);
  for (Unit* unit : used) {
    unit->gather(rank_, Pass::Forward);
    unit->open_gradients(rank_);
  }
  const Weights weights{
      .unit = &*head_,
      .output_layer = &matrix,
      .output_name = name_of(is_embedding ? Parameter::EmbeddingWordWeight : Parameter::HeadWeight)};
  Frame frame{rank_, programs_.head(), programs_.sizes()};
  frame.give_input(rank_, std::move(x));
  rank_.enter(costmodel::kLoss);
  run_phase(rank_, frame, program::Phase::Forward, weights, micro_batch());
  rank_.enter(costmodel::kHeadBackward);
  rank_.clock.enter(Phase::Backward);
  run_phase(rank_, frame, program::Phase::Backward, weights, micro_batch());
  for (Unit* unit : used) {
    unit->release();
    unit->finish_gradients(rank_);
  }
  return frame.take_input_gradient();
}

void Stage::embedding_gradient(InFlight& flight, Tensor d) {
  if (costmodel::adapters_are_operations(rank_.scenario)) return d.free();  // nothing there is trained
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
  if (!rank_.scenario.model.tied_embeddings || !costmodel::separates_ends(rank_.scenario.layout)) return;
  for (std::optional<Unit>* copy : {&embedding_, &tied_copy_}) {
    if (!copy->has_value()) continue;
    const Parameter table = copy == &embedding_ ? Parameter::EmbeddingWordWeight : Parameter::HeadWeight;
    for (FlatParameters& flat : (*copy)->flats()) {
      if (flat.holds(name_of(table))) flat.add_across(rank_, *rank_.groups.tied_ends);
    }
  }
}

std::vector<Unit*> Stage::units() {
  std::vector<Unit*> out;
  if (embedding_) out.push_back(&*embedding_);
  for (Unit& unit : layers_) out.push_back(&unit);
  if (head_) out.push_back(&*head_);
  if (tied_copy_) out.push_back(&*tied_copy_);
  return out;
}

}  // namespace hexaplan::validator
