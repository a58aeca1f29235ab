#pragma once
#include "costmodel/spec/dtype.h"
#include "costmodel/spec/model_spec.h"

namespace hexaplan::costmodel {

/// What a sequence of `tokens` has in the key-value cache of one of `tp` GPUs: keys and values of its share
/// of the heads, or the latent vector, which every GPU has (MLA); windowed layers keep their window alone.
/// Recurrent layers keep a state of one size, however many tokens went into it.
/// [docs/formulas.md#M9]
[[nodiscard]] Bytes cache_of_sequence(const ModelSpec& model, DType type, int tp, double tokens);

/// FLOPs of attention of one new token to `tokens` in the cache, on one of `tp` GPUs.
[[nodiscard]] Flops cached_attention_flops(const ModelSpec& model, int tp, double tokens);

}  // namespace hexaplan::costmodel
