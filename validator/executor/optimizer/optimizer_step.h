#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace hexaplan::validator {

/// An optimizer's constants; defaults of Llama 2's pre-training (arXiv:2307.09288 §2.2).
struct OptimizerOptions {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-5;
  double momentum = 0.95;       // of SGD and Muon (arXiv:2502.16982 §2.1)
  double projection_scale = 0;  // of GaLore's and APOLLO's steps; 0: OptimizerTraits::step_scale
  /// Of outer steps (arXiv:2311.08105 section 3.1; pytorch/torchtitan@b5bcd76
  /// torchtitan/experiments/torchft/manager.py maybe_semi_sync_training).
  double outer_learning_rate = 0.7, outer_momentum = 0.9;
  double weight_decay = 0.1;
  double clip_norm = 1.0;  // of all gradients together; 0 = never clip
};

/// How the learning rate falls after its warm-up: not at all, along half a cosine (arXiv:1608.03983, one
/// period), or along a line (arXiv:1810.04805 §A.2).
enum class Decay : std::uint8_t { Constant, Cosine, Linear };
/// "constant", "cosine", "linear".
[[nodiscard]] std::string_view name_of(Decay decay);
[[nodiscard]] std::optional<Decay> decay_named(std::string_view name);

/// Linear warm-up to `peak`, then down to `lowest`, which is reached at `total_steps` and kept.
struct LearningRate {
  double peak = 3e-4;
  double lowest = 3e-5;
  std::int64_t warm_up_steps = 0;
  std::int64_t total_steps = 0;
  Decay decay = Decay::Constant;
  /// Of step `step`, counted from 1.
  [[nodiscard]] double at(std::int64_t step) const;
};

/// One step of the optimizer.
struct OptimizerStep {
  OptimizerOptions options;
  double learning_rate = 0;
  double gradient_factor = 1;  // clip_norm / norm where that is below 1; over the loss scale
  std::int64_t step = 1;
  /// Gradients overflowed: nothing changes, but every message is sent.
  bool skipped = false;
};

/// Factor that clips gradients of this norm: min(1, clip / (norm + 1e-6)) (PyTorch
/// torch/nn/utils/clip_grad.py clip_grad_norm_, Megatron-LM core/optimizer/clip_grads.py).
[[nodiscard]] double clip_factor(double norm, double clip_norm);

}  // namespace hexaplan::validator
