#include "validator/executor/parallel/dropout.h"

#include <cmath>

#include "costmodel/units/mutation.h"
#include "validator/executor/parallel/context.h"
#include "validator/executor/parameters/initial_values.h"

namespace hexaplan::validator {
namespace {

using costmodel::Axis;

/// Dropouts of a layer.
enum class Where : std::uint8_t { Scores, Attention, Mlp, Count };

DropoutForm form_of(const Rank& rank, Where where) {
  constexpr double kWords = 4294967296.0;  // 2³²
  const costmodel::Recipe& recipe = rank.scenario.recipe;
  DropoutForm form;
  if (recipe.dropout <= 0) return form;
  form.key = rank.dropout_key;
  form.dropped = static_cast<std::uint32_t>(std::llround(recipe.dropout * kWords));
  form.factor = 1 / (1 - recipe.dropout);
  form.place = static_cast<std::uint32_t>(rank.layer) * static_cast<std::uint32_t>(Where::Count) +
               static_cast<std::uint32_t>(where);
  // As Stage::load_tokens deals out the global batch.
  const std::int64_t replicas = rank.scenario.layout.dp;
  const std::int64_t replica =
      costmodel::mutant("dropout-forgets-the-replica") ? 0 : rank.position(Axis::Data);
  form.first_sequence = rank.first_sequence() + (rank.microbatch * replicas + replica) * recipe.micro_batch;
  return form;
}

}  // namespace

std::uint64_t dropout_key(std::uint64_t seed, std::int64_t step) {
  constexpr std::uint64_t kStream = 0x64726f70;  // of its own beside those of parameters
  return counter_random(seed, kStream, static_cast<std::uint64_t>(step));
}

DropoutForm dropout_of_hidden(const Rank& rank, costmodel::program::Site site, const View& positions,
                              std::int64_t rows) {
  const bool attention = site == costmodel::program::Site::AttentionResidual;
  DropoutForm form = form_of(rank, attention ? Where::Attention : Where::Mlp);
  form.first_row = rows < positions.rows ? rows * rank.position(Axis::Tensor) : 0;
  form.sequence_rows = rank.dims.local_sequence;
  form.positions = positions.row_range(form.first_row, rows);
  return form;
}

DropoutForm dropout_of_scores(const Rank& rank) {
  DropoutForm form = form_of(rank, Where::Scores);
  const int shares = head_shares(rank);
  const std::int64_t own = rank.dims.heads / shares;
  form.sequence_rows = rank.dims.local_sequence * shares;
  form.width = form.sequence_rows;
  form.first_head =
      rank.position(Axis::Tensor) * rank.dims.heads + (shares > 1 ? rank.groups.context->rank() * own : 0);
  return form;
}

}  // namespace hexaplan::validator
