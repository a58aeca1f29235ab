#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "costmodel/parameters/parameter_tensors.h"
#include "tests/support/random_scenario.h"

namespace hexaplan::costmodel {
namespace {

/// All tensors of the unsharded model, without MTP modules.
std::vector<ParameterTensor> all_tensors(const ModelSpec& model) {
  std::vector<ParameterTensor> all;
  append_embedding_parameters(model, all);
  append_head_parameters(model, false, all);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    append_layer_parameters(model, class_of_layer(model, layer), all);
  }
  return all;
}

/// Ranks of one stage and data-parallel replica that hold a piece of the tensor, and how often each piece
/// exists.
std::int64_t pieces(const ParameterTensor& tensor, const Layout& layout) {
  switch (tensor.cut) {
    case Cut::Replicated:
      return 1;
    case Cut::KeyValue:  // some pieces more than once when there are fewer kv heads than ranks
    case Cut::Column:
    case Cut::Row:
    case Cut::Vocabulary:
      return layout.tp;
    case Cut::ExpertColumn:
    case Cut::ExpertRow:
      return static_cast<std::int64_t>(layout.ep) * layout.expert_tensor();
    case Cut::ExpertReplicated:
      return layout.ep;
  }
  return 1;
}

RC_GTEST_PROP(parameter_laws, tensors_add_up_to_the_published_kind_of_total, ()) {
  const ModelSpec model = (*support::any_scenario()).model;
  std::int64_t sum = 0;
  for (const ParameterTensor& tensor : all_tensors(model)) sum += tensor.elements();
  const ParameterCount count = count_parameters(model);
  RC_ASSERT(sum == count.total);
  RC_ASSERT(count.active <= count.total);
  RC_ASSERT(count.active > 0);
}

RC_GTEST_PROP(parameter_laws, degree_one_keeps_every_tensor_whole, ()) {
  const ModelSpec model = (*support::any_scenario()).model;
  for (const ParameterTensor& tensor : all_tensors(model)) {
    RC_ASSERT(elements_on_rank(tensor, model, Layout{}, 1) == tensor.elements());
  }
}

RC_GTEST_PROP(parameter_laws, shards_add_up_to_the_whole_with_at_most_one_row_or_column_of_padding_each, ()) {
  const Scenario s = *support::any_scenario();
  for (const ParameterTensor& tensor : all_tensors(s.model)) {
    const std::int64_t shard = elements_on_rank(tensor, s.model, s.layout, 1);
    const std::int64_t n = pieces(tensor, s.layout);
    RC_ASSERT(shard * n >= tensor.elements());
    if (tensor.cut != Cut::KeyValue) {
      const std::int64_t padding = n * std::max(tensor.rows, tensor.cols) * tensor.count;
      RC_ASSERT(shard * n <= tensor.elements() + padding);
    }
  }
}

RC_GTEST_PROP(parameter_laws, more_tensor_parallelism_never_enlarges_a_shard, ()) {
  const Scenario s = *support::any_scenario();
  Layout twice = s.layout;
  twice.tp *= 2;
  if (twice.etp > 0) twice.etp *= 2;
  for (const ParameterTensor& tensor : all_tensors(s.model)) {
    RC_ASSERT(elements_on_rank(tensor, s.model, twice, 1) <= elements_on_rank(tensor, s.model, s.layout, 1));
  }
}

RC_GTEST_PROP(parameter_laws, padded_vocabulary_is_the_next_multiple, ()) {
  const auto vocab = *rc::gen::inRange<std::int64_t>(1, 1000000);
  const auto multiple = *rc::gen::inRange<std::int64_t>(1, 512);
  const auto tp = *rc::gen::inRange(1, 65);
  const std::int64_t padded = padded_vocab(vocab, multiple, tp);
  RC_ASSERT(padded % (multiple * tp) == 0);
  RC_ASSERT(padded >= vocab);
  RC_ASSERT(padded < vocab + multiple * tp);
}

}  // namespace
}  // namespace hexaplan::costmodel
