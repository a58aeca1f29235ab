#include "validator/executor/layers/transformer_layer.h"

#include <utility>

namespace hexaplan::validator {
namespace {

using costmodel::TensorKind;

/// The layer's forward pass up to where everything that backward needs is there.
void forward_to_saved(Rank& rank, const Unit& unit, const View& positions, const Keeping& keep,
                      LayerSaved& saved) {
  saved.norm1 = norm_forward(rank, saved.input, unit.weight("norm1.weight"), keep);
  saved.middle = attention_forward(rank, unit, saved.norm1.output, positions, keep, keep.label("norm.input"),
                                   saved.attention);
  rank.device.add(saved.middle, saved.input);
  saved.norm2 = norm_forward(rank, saved.middle, unit.weight("norm2.weight"), keep);
  feed_forward_to_saved(rank, unit, saved.norm2.output, keep, saved.feed_forward);
}

/// The rest, which nothing in backward needs.
Tensor forward_from_saved(const Rank& rank, const Unit& unit, const LayerSaved& saved) {
  const TensorLabel label{"layer.output", TensorKind::Transient, rank.activation};
  Tensor output = feed_forward_from_saved(rank, unit, saved.feed_forward, label);
  rank.device.add(output, saved.middle);
  return output;
}

}  // namespace

Tensor layer_forward(Rank& rank, const Unit& unit, Tensor input, const View& positions, bool recomputed,
                     LayerSaved& saved) {
  const TensorKind kind = recomputed ? TensorKind::Transient : TensorKind::Activation;
  const Keeping keep{.kind = kind, .activation = rank.activation};
  input.relabel({recomputed ? "layer.input" : "norm.input", TensorKind::Activation, rank.activation});
  saved.input = std::move(input);
  forward_to_saved(rank, unit, positions, keep, saved);
  Tensor output = forward_from_saved(rank, unit, saved);
  if (recomputed) saved = {.input = std::move(saved.input)};
  return output;
}

void layer_backward(Rank& rank, const Unit& unit, LayerSaved saved, const View& positions, const View& d,
                    WeightGradients& weights) {
  if (saved.middle.empty()) {
    const Keeping again{.kind = TensorKind::Transient, .activation = rank.activation};
    forward_to_saved(rank, unit, positions, again, saved);
  }
  {
    const Tensor dy = feed_forward_backward(rank, unit, std::move(saved.norm2.output),
                                            std::move(saved.feed_forward), d, weights);
    norm_backward(rank, dy, saved.middle, unit.weight("norm2.weight"), saved.norm2.stats, d,
                  unit.gradient("norm2.weight"));
  }
  saved.middle.free();
  saved.norm2 = {};
  const Tensor dy = attention_backward(rank, unit, std::move(saved.norm1.output), positions,
                                       std::move(saved.attention), d, weights);
  norm_backward(rank, dy, saved.input, unit.weight("norm1.weight"), saved.norm1.stats, d,
                unit.gradient("norm1.weight"));
}

}  // namespace hexaplan::validator
