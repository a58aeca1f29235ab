#include "costmodel/program/compile.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "costmodel/program/passes/passes.h"

namespace hexaplan::costmodel::program {
namespace {

bool always(const Program& /*program*/, const Techniques& /*techniques*/) {
  return true;
}
bool over_tensor_ranks(const Program& /*program*/, const Techniques& t) {
  return t.tensor;
}
bool over_sequence(const Program& /*program*/, const Techniques& t) {
  return t.sequence;
}
bool over_context_ranks(const Program& p, const Techniques& t) {
  return p.part == Part::Layer && t.context_ranks > 1;
}
bool over_expert_ranks(const Program& p, const Techniques& /*techniques*/) {
  return p.part == Part::Layer;
}
bool quantises(const Program& p, const Techniques& t) {
  return p.part == Part::Layer && t.quantises;
}
bool stores_scores(const Program& p, const Techniques& t) {
  return p.part == Part::Layer && t.stores_scores;
}
bool drops_out(const Program& p, const Techniques& t) {
  return p.part == Part::Layer && t.drops_out;
}
bool casts_automatically(const Program& /*program*/, const Techniques& t) {
  return t.autocasts;
}
bool adapts(const Program& p, const Techniques& t) {
  return p.part == Part::Layer && t.adapters.operations;
}
bool freezes(const Program& p, const Techniques& t) {
  return t.adapters.frozen && (p.part == Part::Layer || t.adapters.operations);
}
bool makes_again(const Program& p, const Techniques& /*techniques*/) {
  return std::any_of(p.ops.begin(), p.ops.end(), [](const Op& op) { return op.made_again; });
}
bool chunks_loss(const Program& p, const Techniques& t) {
  return p.part == Part::Head && t.loss_chunks > 1;
}
bool gathers_again(const Program& /*program*/, const Techniques& t) {
  return t.sequence && t.gathers_inputs_again;
}
bool keeps_otherwise(const Program& p, const Techniques& t) {
  return p.part == Part::Layer && t.keeps.by_rules;
}
bool keeps_originals(const Program& p, const Techniques& t) {
  return quantises(p, t) && t.keeps_original_inputs;
}
bool shares_buffers(const Program& p, const Techniques& t) {
  return p.part == Part::Layer && t.shares_gather_buffers && gathers_again(p, t);
}
bool buffers_gradients(const Program& p, const Techniques& t) {
  return p.part == Part::Layer && t.buffers_weight_gradients;
}
/// A multi-token-prediction module is recomputed as a whole, with its layer
/// (NVIDIA/Megatron-LM megatron/core/transformer/multi_token_prediction.py, _checkpointed_forward).
bool recomputes(const Program& p, const Techniques& t) {
  return (p.part == Part::Layer && t.recomputed != Recomputed::Nothing) ||
         (p.part == Part::Mtp && t.recomputed == Recomputed::Everything);
}
bool dequantises(const Program& p, const Techniques& t) {
  return p.part == Part::Layer && t.adapters.in_4_bits;
}
bool splits(const Program& p, const Techniques& t) {
  return (p.part == Part::Layer || p.part == Part::Mtp) && t.splits_backward;
}

// The order matters. What cuts the model comes before differentiation, so that backward collectives follow
// from forward ones. What moves lifetimes comes after it: the chunked loss before gather-again, because
// inside a chunk the gathered input is still there; gather-again before recomputation, because a gathered
// value would otherwise count as kept and run again; what a framework keeps before it as well, because that
// is what recomputation drops (original inputs behind it, which asks what else is kept); weights in 4 bits
// behind it, because a product that runs again writes its weight out again; the split last, because it asks
// which buffers backward overwrites.
constexpr std::array kPasses{
    PassRow{"adapters", adapts, add_adapters},
    PassRow{"tensor parallelism", over_tensor_ranks, cut_over_tensor_ranks},
    PassRow{"sequence parallelism", over_sequence, share_sequence},
    PassRow{"context parallelism", over_context_ranks, attend_over_context_ranks},
    PassRow{"expert parallelism", over_expert_ranks, exchange_token_copies},
    PassRow{"stored scores", stores_scores, store_scores},
    PassRow{"dropout", drops_out, drop_out},
    PassRow{"automatic casts", casts_automatically, cast_automatically},
    PassRow{"differentiate", always, differentiate},
    PassRow{"frozen weights", freezes, freeze_weights},
    PassRow{"made again", makes_again, make_again},
    PassRow{"late weight gradients", always, delay_weight_gradients},
    PassRow{"chunked loss", chunks_loss, chunk_loss},
    PassRow{"gather again", gathers_again, gather_inputs_again},
    PassRow{"quantised matrices", quantises, quantise_matrices},
    PassRow{"kept values", keeps_otherwise, keep_values},
    PassRow{"original inputs", keeps_originals, keep_originals},
    PassRow{"weight gradient buffers", buffers_gradients, buffer_weight_gradients},
    PassRow{"recompute", recomputes, recompute},
    PassRow{"gather buffers", shares_buffers, share_gather_buffers},
    PassRow{"weights in 4 bits", dequantises, dequantise_weights},
    PassRow{"split backward", splits, split_backward},
};

}  // namespace

std::span<const PassRow> all_passes() {
  return kPasses;
}

Program compile(Program program, const Techniques& techniques, std::span<const PassRow> passes) {
  for (const PassRow& pass : passes) {
    if (!pass.applies(program, techniques)) continue;
    program = pass.rewrite(std::move(program), techniques);
    assert(passes.data() != kPasses.data() || is_valid(program));
  }
  return program;
}

}  // namespace hexaplan::costmodel::program
