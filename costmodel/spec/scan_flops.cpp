#include "costmodel/spec/scan_flops.h"

namespace hexaplan::costmodel {
namespace {

/// Multiply-adds of a token, per head: of a chunk with its keys or values, of the state, of the chunk's own
/// square; per group: of the chunk with keys.
struct Products {
  double chunk_keys = 0, chunk_values = 0, state = 0, square = 0, group_keys = 0;
};

/// fla-org/flash-linear-attention@bc3b101 fla/ops/gated_delta_rule/chunk.py. Forward: keys with keys, the
/// triangular inverse, w and u; w times state, keys times new values; queries times state, queries with keys,
/// scores times values. Backward makes w, u and the states again, and has two products for each.
constexpr Products kDeltaForward{.chunk_keys = 3, .chunk_values = 2, .state = 3, .square = 0.5};
constexpr Products kDeltaBackward{.chunk_keys = 10, .chunk_values = 5, .state = 8, .square = 2};

/// arXiv:2405.21060 section 6 and state-spaces/mamba@e9594ce mamba_ssm/ops/triton/ssd_combined.py. Forward:
/// C with B per group; scores times values; values into the state, C times state. Backward makes C·B and the
/// states again; then gradients of values (scores, states), of B, of C, of C·B, of the decays, and of B and C
/// through C·B.
constexpr Products kSpaceForward{.chunk_values = 1, .state = 2, .group_keys = 1};
constexpr Products kSpaceBackward{.chunk_values = 3, .state = 5, .group_keys = 3};

/// state-spaces/mamba@e9594ce csrc/selective_scan: numbers one by one, of which a multiply-add counts two.
/// Forward: step times A, its power, the input times B, the state, its product with C. Backward makes these
/// again but the last; then C times the gradient, the scan from behind, and gradients of the input, the step,
/// A, B and C.
constexpr Products kSelectiveForward{.state = 7.0 / 2};
constexpr Products kSelectiveBackward{.state = 24.0 / 2};

/// huggingface/transformers src/transformers/models/minimax/modeling_minimax.py: queries with keys, scores
/// times values, queries times state, keys times values; two products for each in backward.
constexpr Products kLightningForward{.chunk_keys = 1, .chunk_values = 1, .state = 2};
constexpr Products kLightningBackward{.chunk_keys = 2, .chunk_values = 2, .state = 4};

double flops_of_token(const Products& p, const RecurrentSpec& r, std::int64_t heads, std::int64_t groups) {
  const auto chunk = static_cast<double>(r.chunk), state = static_cast<double>(r.state),
             width = static_cast<double>(r.head_dim);
  const double of_head = p.chunk_keys * chunk * state + p.chunk_values * chunk * width +
                         p.state * state * width + p.square * chunk * chunk;
  const double of_group = p.group_keys * chunk * state;
  return 2 * (static_cast<double>(heads) * of_head + static_cast<double>(groups) * of_group);
}

}  // namespace

ScanFlops scan_flops(const RecurrentSpec& r, std::int64_t heads, std::int64_t groups) {
  const auto count = [&](const Products& p) { return flops_of_token(p, r, heads, groups); };
  switch (r.kind) {
    case RecurrentKind::GatedDeltaNet:
    case RecurrentKind::KimiDelta:  // fla/ops/kda: the same products, with decays in their operands
      return {count(kDeltaForward), count(kDeltaBackward)};
    case RecurrentKind::Mamba2:
      return {count(kSpaceForward), count(kSpaceBackward)};
    case RecurrentKind::Mamba1:
      return {count(kSelectiveForward), count(kSelectiveBackward)};
    case RecurrentKind::Lightning:
      return {count(kLightningForward), count(kLightningBackward)};
    case RecurrentKind::ShortConvolution:
    case RecurrentKind::None:
      break;
  }
  return {};
}

}  // namespace hexaplan::costmodel
