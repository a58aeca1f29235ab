#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "costmodel/spec/model_spec.h"
#include "validator/executor/parameters/local_tensor.h"

namespace hexaplan::validator {

/// A number that depends on its arguments alone: splitmix64's finaliser over a counter (Steele, Lea, Flood,
/// "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 17).
[[nodiscard]] std::uint64_t counter_random(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter);
/// Streams of different tensors do not meet: the unit and a hash of the name (FNV-1a).
[[nodiscard]] std::uint64_t stream_of(std::string_view name, int unit);
/// The same as a standard normal deviate.
[[nodiscard]] double counter_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter);

/// Mean and standard deviation of a parameter's initial values.
struct InitialDistribution {
  double mean = 0, deviation = 0;
  bool uniform = false;  // otherwise normal
};
/// Norms multiply by 1, biases add nothing, all else is normal around zero. Of adapters A is uniform within
/// ±1/√inputs, B is zero (huggingface/peft src/peft/tuners/lora/layer.py reset_lora_parameters), unless
/// training has `begun`; IA³'s scales are 1 (its tuners/ia3/layer.py). DoRA's magnitudes are lengths of rows
/// of the frozen matrices (its tuners/lora/dora.py), which initial_values knows.
[[nodiscard]] InitialDistribution initial_distribution(const LocalTensor& tensor,
                                                       const costmodel::ModelSpec& model, bool begun = false);

/// Initial values of what a rank holds of a parameter: 1 for norms, 0 for biases, else normal with deviation
/// 0.02 (GPT-2's initializer_range), divided by √(2·layers) for matrices that end on the residual stream
/// (Radford et al. 2019 §2.3). A value depends on seed, layer, parameter and its index in the unsharded
/// tensor alone, so that every layout starts from the same model. `out` are the elements from `first` on.
void initial_values(const LocalTensor& tensor, int unit, const costmodel::ModelSpec& model,
                    std::uint64_t seed, std::int64_t first, std::span<double> out, bool begun = false);

}  // namespace hexaplan::validator
