#include "validator/executor/checkpoint/sharded_state.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "validator/executor/checkpoint/owned_runs.h"

namespace hexaplan::validator {
namespace {

/// The compute copy follows from the master. Scales come before what they scale (OptimizerShard::visit).
constexpr std::array kSaved = {State::Master,       State::FirstScale, State::SecondScale, State::FirstMoment,
                               State::SecondMoment, State::RowMoment,  State::ColumnMoment};

/// Optimizers read each other's states as something else. Checkpoints of AdamW say nothing of it.
std::string_view trained_by(costmodel::Optimizer optimizer) {
  constexpr std::array<std::string_view, 13> kTrainedBy = {"",
                                                           ", trained by 8-bit AdamW",
                                                           ", trained by Adafactor",
                                                           ", trained by Lion",
                                                           ", trained by SGD",
                                                           ", trained by Muon",
                                                           ", trained by LAMB",
                                                           ", trained by GaLore",
                                                           ", trained by 8-bit GaLore",
                                                           ", trained by APOLLO",
                                                           ", trained by APOLLO-Mini",
                                                           ", trained by SOAP",
                                                           ", trained by Shampoo"};
  return kTrainedBy.at(static_cast<std::size_t>(optimizer));
}

StateKey key_of(const OwnedPart& part, State state) {
  auto [unit, name] = original_of(part);
  return {unit, std::move(name), static_cast<int>(state)};
}

std::int64_t whole_elements(const LocalTensor& tensor) {
  return tensor.global_rows * tensor.global_cols;
}

/// Of all ranks together every element once.
void visit_saved(const RankView& view, const std::function<void(const OwnedPart&)>& visitor) {
  const auto visit = [&](const OwnedPart& part) {
    if (!part.duplicate) visitor(part);
  };
  for (const State state : kSaved) view.visit_state(state, visit);
}

void list_part(CheckpointWriter& writer, const OwnedPart& part) {
  std::vector<ElementRun> runs;
  for (const OwnedRun& run : runs_of(part)) runs.push_back({run.global, run.count});
  writer.list(key_of(part, part.state), whole_elements(*part.tensor), runs);
}

void add_part(CheckpointWriter& writer, const OwnedPart& part, std::vector<double>& values) {
  for_each_piece(part, [&](const OwnedPiece& piece) {
    values.resize(static_cast<std::size_t>(piece.view.elements()));
    part.device->download(values, piece.view);
    for (const OwnedRun& run : piece.runs) writer.add(values_of_run(values, run));
  });
}

void fill_part(const CheckpointReader& checkpoint, const OwnedPart& part, std::vector<double>& values) {
  const StateKey key = key_of(part, part.state);
  for_each_piece(part, [&](const OwnedPiece& piece) {
    values.assign(static_cast<std::size_t>(piece.view.elements()), 0.0);
    for (const OwnedRun& run : piece.runs)
      checkpoint.read(key, whole_elements(*part.tensor), {run.global, run.count}, values_of_run(values, run));
    part.device->upload(piece.view, std::span<const double>{values});
    checkpoint.let_go();
  });
}

}  // namespace

std::string checkpoint_model(const costmodel::Scenario& sc) {
  const costmodel::ModelSpec& m = sc.model;
  return fmt::format("{} layers, hidden {}, {} heads ({} kv) of {}, ffn {}, {} words{}, {} experts of {}{}",
                     m.layers, m.hidden, m.attention.heads, m.attention.kv_heads, m.attention.head_dim,
                     m.mlp.ffn, m.vocab, m.tied_embeddings ? " (tied)" : "", m.moe.experts, m.moe.expert_ffn,
                     trained_by(sc.recipe.optimizer));
}

void save_checkpoint(const std::string& root, const RankView& view) {
  Communicator& world = *view.rank.groups.world;
  Device& device = view.rank.device;
  if (world.rank() == 0) (void)begin_checkpoint(root, view.step);
  world.barrier("saving a checkpoint");
  CheckpointHeader header{.step = view.step, .rank = world.rank(), .ranks = world.size()};
  header.element_bytes = device.element_of(costmodel::DType::Fp32) == Element::F64 ? 8 : 4;
  header.model = checkpoint_model(view.rank.scenario);
  CheckpointWriter writer{header, unfinished_checkpoint(root, view.step)};
  visit_saved(view, [&](const OwnedPart& part) { list_part(writer, part); });
  std::vector<double> values;
  visit_saved(view, [&](const OwnedPart& part) { add_part(writer, part, values); });
  writer.commit();
  world.barrier("saving a checkpoint");
  if (world.rank() == 0) commit_checkpoint(root, view.step);
  world.barrier("saving a checkpoint");
}

void load_checkpoint(const CheckpointReader& checkpoint, const RankView& view) {
  const std::string model = checkpoint_model(view.rank.scenario);
  if (checkpoint.header().model != model) {
    throw CheckpointError{fmt::format("the checkpoint holds a model of {}; the scenario's has {}",
                                      checkpoint.header().model, model)};
  }
  std::vector<double> values;
  for (const State state : kSaved)
    view.visit_state(state, [&](const OwnedPart& part) { fill_part(checkpoint, part, values); });
  view.state_changed();
}

}  // namespace hexaplan::validator
