#pragma once
#include <cstdint>
#include <vector>

namespace hexaplan::costmodel {

/// How the angles of rotary positions are stretched for sequences longer than those first trained on.
enum class RopeScaling : std::uint8_t {
  None,
  Linear,    // all angles divided by the factor (arXiv:2306.15595)
  Dynamic,   // a larger base beyond the original length ("NTK-aware")
  Yarn,      // arXiv:2309.00071
  LongRope,  // a factor per angle (arXiv:2402.13753)
  Llama3,    // low frequencies divided by the factor (meta-llama/llama-models models/llama3/model.py)
};

/// Rotary positions (arXiv:2104.09864). Of a model's identity: no second depends on it, and no byte but where
/// a profile's rules tell apart whether all of a head turns (SavedCase::PartialRotary).
struct RotarySpec {
  double base = 10000;       // rope_theta
  double local_base = 0;     // of layers with a window, whose angles are not scaled; 0: as all others
  double share = 1;          // of a head's width that turns, from its first column on
  bool interleaved = false;  // columns 2i and 2i + 1 turn together, instead of i and i + width/2

  RopeScaling scaling = RopeScaling::None;
  double factor = 1;
  std::int64_t original_positions = 0;              // length before scaling; 0 without
  double low_frequency = 1, high_frequency = 4;     // Llama3: turns in the original length
  double beta_fast = 32, beta_slow = 1;             // Yarn: likewise
  bool whole_ramp = true;                           // Yarn: its ramp begins and ends at whole pairs
  double attention_factor = 1;                      // of cosine and sine: Yarn, LongRope
  double score_factor = 1;                          // of latent attention's scores: Yarn
  std::vector<double> short_factors, long_factors;  // LongRope: per pair of columns

  friend bool operator==(const RotarySpec&, const RotarySpec&) = default;
};

}  // namespace hexaplan::costmodel
