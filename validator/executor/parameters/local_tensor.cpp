#include "validator/executor/parameters/local_tensor.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "costmodel/parameters/adapters.h"
#include "costmodel/parameters/parameter_names.h"
#include "costmodel/parameters/trained_elements.h"
#include "costmodel/units/ceil_div.h"

namespace hexaplan::validator {
namespace {

using costmodel::Cut;
using costmodel::ParameterTensor;
using costmodel::Scenario;

/// Blocks of equal height that a matrix consists of and that are cut one by one: gate and up, the heads' keys
/// and values. One for everything else.
std::int64_t blocks_of(const ParameterTensor& t, const Scenario& sc) {
  if (t.cut == Cut::KeyValue) return t.adapter ? 1 : 2;
  const bool widened = t.name.find("gate_up") != std::string_view::npos;
  return widened && sc.model.mlp.gated ? 2 : 1;
}

/// Part `part` of `parts` of every block, for experts [first, first + experts).
std::vector<RowSegment> cut_blocks(std::int64_t rows, std::int64_t blocks, std::int64_t part,
                                   std::int64_t parts, std::int64_t first_expert, std::int64_t experts) {
  std::vector<RowSegment> segments;
  const std::int64_t block = rows / blocks;
  const std::int64_t piece = block / parts;
  std::int64_t local = 0;
  for (std::int64_t e = first_expert; e < first_expert + experts; ++e) {
    for (std::int64_t b = 0; b < blocks; ++b, local += piece)
      segments.push_back({.local = local, .global = e * rows + b * block + part * piece, .count = piece});
  }
  return segments;
}

void cut_rows(LocalTensor& out, std::vector<RowSegment> segments) {
  out.segments = std::move(segments);
  out.rows = 0;
  for (const RowSegment& s : out.segments) out.rows += s.count;
}

/// kv heads are cut over tp, or, where there are fewer, whole heads are held by tp/kv_heads neighbours.
void cut_key_value(LocalTensor& out, const ParameterTensor& t, const Scenario& sc, int tp_rank) {
  const std::int64_t heads = sc.model.attention.kv_heads, tp = sc.layout.tp;
  const std::int64_t parts = std::min(heads, tp);
  out.copies = static_cast<int>(tp / parts);
  out.first_copy = tp_rank % out.copies == 0;
  cut_rows(out, cut_blocks(t.rows, blocks_of(t, sc), tp_rank / out.copies, parts, 0, 1));
}

void cut_vocabulary(LocalTensor& out, const ParameterTensor& t, const Scenario& sc, int tp_rank) {
  out.rows = costmodel::padded_vocab(t.rows, sc.framework.vocab_multiple, sc.layout.tp) / sc.layout.tp;
  const std::int64_t first = tp_rank * out.rows;
  const std::int64_t real = std::clamp<std::int64_t>(t.rows - first, 0, out.rows);
  if (real > 0) out.segments = {{.local = 0, .global = first, .count = real}};
}

void cut_replicated(LocalTensor& out, const ParameterTensor& t, const Scenario& sc, int tp_rank) {
  out.segments = {{.local = 0, .global = 0, .count = out.rows}};
  out.sums_over_tp = costmodel::sums_over_tensor_ranks(t, sc.layout);
  out.first_copy = tp_rank == 0;
}

void cut_experts(LocalTensor& out, const ParameterTensor& t, const Scenario& sc,
                 const ParameterPlace& place) {
  const std::int64_t etp = sc.layout.expert_tensor();
  const std::int64_t experts = t.count / sc.layout.ep;
  const std::int64_t first = place.expert_rank * experts;
  const bool columns = t.cut == Cut::ExpertColumn, rows = t.cut == Cut::ExpertRow;
  cut_rows(out, cut_blocks(t.rows, blocks_of(t, sc), columns ? place.expert_tensor_rank : 0,
                           columns ? etp : 1, first, experts));
  if (rows) {
    out.cols = t.cols / etp;
    out.first_col = place.expert_tensor_rank * out.cols;
  }
  out.first_copy = columns || rows || place.expert_tensor_rank == 0;
}

/// Each tensor begins a multiple of `granule` elements.
void place_in_flat_buffer(std::vector<LocalTensor>& tensors, std::int64_t granule) {
  // Tensors whose gradients add up over tensor-parallel ranks lie together, so that one message sums them.
  std::stable_partition(tensors.begin(), tensors.end(), [](const LocalTensor& t) { return t.sums_over_tp; });
  std::int64_t offset = 0;
  for (LocalTensor& t : tensors) {
    t.offset = offset;
    offset += costmodel::ceil_div(t.elements(), granule) * granule;
  }
}

std::int64_t sum_elements(const std::vector<LocalTensor>& tensors) {
  std::int64_t sum = 0;
  for (const LocalTensor& t : tensors) sum += t.elements();
  return sum;
}

std::vector<LocalTensor>& tensors_of(UnitPlan& unit, costmodel::FlatKind kind) {
  switch (kind) {
    case costmodel::FlatKind::Dense:
      break;
    case costmodel::FlatKind::BesideTiedTable:
      return unit.beside_tied_table;
    case costmodel::FlatKind::DenseMatrices:
      return unit.dense_matrices;
    case costmodel::FlatKind::Expert:
      return unit.expert;
    case costmodel::FlatKind::ExpertMatrices:
      return unit.expert_matrices;
    case costmodel::FlatKind::In4Bits:
      return unit.in_4_bits;
    case costmodel::FlatKind::Adapter:
      return unit.adapters;
  }
  return unit.dense;
}

std::vector<ParameterTensor> parameters_of(const Scenario& sc, int index) {
  if (index < 0) return costmodel::end_parameters(sc, role_of_unit(index));
  std::vector<ParameterTensor> out;
  costmodel::append_layer_parameters(sc.model, costmodel::class_of_layer(sc.model, index), out);
  costmodel::append_adapter_parameters(sc, costmodel::class_of_layer(sc.model, index), out);
  return out;
}

}  // namespace

std::int64_t LocalTensor::global_index(std::int64_t local) const {
  const std::int64_t row = local / cols, col = local % cols;
  for (const RowSegment& s : segments) {
    if (row >= s.local && row < s.local + s.count)
      return (s.global + row - s.local) * global_cols + first_col + col;
  }
  return -1;
}

LocalTensor local_tensor(const ParameterTensor& t, const Scenario& sc, const ParameterPlace& place) {
  // A vector (cols == 1) that every rank holds is one row here; one that is cut is a matrix of one column.
  const bool vector = t.cols == 1 && !t.matrix;
  const bool as_row = vector && t.cut == Cut::Replicated;
  LocalTensor out{.name = t.name, .cut = t.cut, .decays = costmodel::decays(t), .adapter = t.adapter};
  out.global_rows = as_row ? t.count : t.rows * t.count;
  out.global_cols = as_row ? t.rows : t.cols;
  out.rows = out.global_rows;
  out.cols = out.global_cols;
  switch (t.cut) {
    case Cut::Replicated:
      cut_replicated(out, t, sc, place.tp_rank);
      break;
    case Cut::Column:
      cut_rows(out, cut_blocks(t.rows, blocks_of(t, sc), place.tp_rank, sc.layout.tp, 0, 1));
      break;
    case Cut::Row:
      out.cols = t.cols / sc.layout.tp;
      out.first_col = place.tp_rank * out.cols;
      out.segments = {{.local = 0, .global = 0, .count = out.rows}};
      break;
    case Cut::KeyValue:
      cut_key_value(out, t, sc, place.tp_rank);
      break;
    case Cut::Vocabulary:
      cut_vocabulary(out, t, sc, place.tp_rank);
      break;
    case Cut::ExpertColumn:
    case Cut::ExpertRow:
    case Cut::ExpertReplicated:
      cut_experts(out, t, sc, place);
      break;
  }
  out.counted = out.first_copy;
  const auto elements = static_cast<double>(out.elements());
  out.matrices = static_cast<std::int64_t>(costmodel::local_matrices(sc.layout, t, elements).count);
  out.matrix_rows = out.global_rows / (t.count * t.parts);
  out.matrix_cols = out.global_cols;
  assert(out.elements() == costmodel::elements_on_rank(t, sc.model, sc.layout, sc.framework.vocab_multiple));
  return out;
}

std::int64_t UnitPlan::dense_elements() const {
  return sum_elements(dense) + sum_elements(dense_matrices) + sum_elements(in_4_bits);
}

std::int64_t UnitPlan::expert_elements() const {
  return sum_elements(expert) + sum_elements(expert_matrices);
}

costmodel::UnitRole role_of_unit(int index) {
  switch (index) {
    case UnitPlan::kEmbedding:
      return costmodel::UnitRole::Embedding;
    case UnitPlan::kHead:
      return costmodel::UnitRole::Head;
    case UnitPlan::kTiedCopy:
      return costmodel::UnitRole::TiedCopy;
    case UnitPlan::kFinalNorm:
      return costmodel::UnitRole::FinalNorm;
    default:
      return costmodel::UnitRole::Layer;
  }
}

UnitPlan plan_unit(const Scenario& sc, int index, const ParameterPlace& place) {
  UnitPlan unit{.index = index};
  const costmodel::UnitRole role = role_of_unit(index);
  for (const ParameterTensor& t : parameters_of(sc, index)) {
    LocalTensor local = local_tensor(t, sc, place);
    if (index == UnitPlan::kTiedCopy) local.counted = false;  // the embedding's gradient is the same
    tensors_of(unit, flat_of(sc, role, t)).push_back(std::move(local));
  }
  for (const costmodel::FlatKind kind : costmodel::kFlatKinds)
    place_in_flat_buffer(tensors_of(unit, kind),
                         kind == costmodel::FlatKind::In4Bits ? costmodel::nf4_granule(sc.recipe) : 1);
  return unit;
}

}  // namespace hexaplan::validator
