// Products, norms, activations, the two ends of the model.
#include "costmodel/units/mutation.h"
#include "validator/executor/interpreter/operation.h"
#include "validator/executor/parallel/vocabulary.h"

namespace hexaplan::validator {
namespace {

namespace program = costmodel::program;
using costmodel::Parameter;
using program::Rows;

/// True when every expert has rows and a matrix of its own. `gradient`: operand that has the product's rows.
bool is_grouped(const Operation& o, std::size_t gradient) {
  return o.read_value(gradient).shape.rows == Rows::ExpertRows;
}

}  // namespace

View Weights::value(const program::Weight& weight) const {
  if (weight.first == Parameter::HeadWeight) return output_layer->weight(output_name);
  const Parameter last = weight.last == Parameter::Count ? weight.first : weight.last;
  return unit->weight(name_of(weight.first), name_of(last));
}

View Weights::gradient(const program::Weight& weight) const {
  if (weight.first == Parameter::HeadWeight) return output_layer->gradient(output_name);
  const Parameter last = weight.last == Parameter::Count ? weight.first : weight.last;
  return unit->gradient(name_of(weight.first), name_of(last));
}

void run_norm(const Operation& o) {
  o.rank.device.norm(norm_form(o.rank.scenario.model), o.in(0), o.weight(), {}, o.out(0), o.out(1));
}

void run_norm_back(const Operation& o) {
  const std::size_t first = o.accumulates() ? 1 : 0;
  NormForm form = norm_form(o.rank.scenario.model);
  form.accumulate = o.accumulates();
  o.rank.device.norm_backward(form, o.in(first), o.in(first + 1), o.weight(), o.in(first + 2), o.out(0),
                              o.weight_gradient(), {});
}

void run_matmul(const Operation& o) {
  const Gemm product{.a = o.in(0), .b = o.weight(), .c = o.out(0), .transpose_b = true};
  if (o.op.kind == program::Kind::GroupedMatmul) {
    o.rank.device.grouped_gemm(o.issue(), product, o.frame.routing.exchange.offsets());
  } else {
    o.rank.device.gemm(o.issue(), product);
  }
}

void run_matmul_data(const Operation& o) {
  const std::size_t gradient = o.accumulates() ? 1 : 0;
  const Gemm product{.a = o.in(gradient),
                     .b = o.weight(),
                     .c = o.out(0),
                     .accumulate = o.accumulates() && !costmodel::mutant("data-gradients-overwrite")};
  if (is_grouped(o, gradient)) {
    o.rank.device.grouped_gemm(o.issue(), product, o.frame.routing.exchange.offsets());
  } else {
    o.rank.device.gemm(o.issue(), product);
  }
}

void run_matmul_weight(const Operation& o) {
  const Gemm product{.a = o.in(1),
                     .b = o.in(0),
                     .c = o.weight_gradient(),
                     .transpose_a = true,
                     .accumulate = !costmodel::mutant("weight-gradients-overwrite")};
  if (is_grouped(o, 1)) {
    o.rank.device.grouped_gemm(o.issue(), product, o.frame.routing.exchange.offsets());
  } else {
    o.rank.device.gemm(o.issue(), product);
  }
}

void run_activation(const Operation& o) {
  o.rank.device.activation(activation_form(o.rank.scenario.model.mlp), o.in(0), o.out(0));
}
void run_activation_back(const Operation& o) {
  o.rank.device.activation_backward(activation_form(o.rank.scenario.model.mlp), o.in(0), o.in(1), o.out(0));
}

void run_add(const Operation& o) {
  if (o.in(1).cols != o.out(0).cols) return run_add_keys(o);
  o.rank.device.add(o.out(0), o.in(1));
}
void run_copy(const Operation& o) {
  o.rank.device.copy(o.out(0), o.in(0));
}

void run_lookup(const Operation& o) {
  o.rank.device.embedding_lookup(o.batch.ids, o.weight(), vocabulary_part(o.rank).first, o.out(0));
}
void run_lookup_back(const Operation& o) {
  o.rank.device.embedding_backward(o.batch.ids, o.in(0), vocabulary_part(o.rank).first, o.weight_gradient());
}

void run_loss_maxima(const Operation& o) {
  o.rank.device.row_max(o.in(0), vocabulary_part(o.rank).words, o.out(0));
}
void run_loss_sums(const Operation& o) {
  const VocabularyPart part = vocabulary_part(o.rank);
  o.rank.device.cross_entropy_sums(o.in(0), part.words, o.in(1), o.batch.targets, part.first, o.out(0));
}
void run_loss_gradient(const Operation& o) {
  const VocabularyPart part = vocabulary_part(o.rank);
  o.rank.device.cross_entropy_gradient(o.in(0), part.words, o.in(1), o.in(2), o.batch.targets, part.first,
                                       costmodel::mutant("loss-is-not-scaled") ? 1 : o.batch.loss_factor,
                                       o.out(0), o.batch.loss);
}

}  // namespace hexaplan::validator
