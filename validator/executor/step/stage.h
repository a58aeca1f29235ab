#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "costmodel/schedule/schedule.h"
#include "validator/executor/interpreter/interpreter.h"
#include "validator/executor/parallel/data.h"
#include "validator/executor/parallel/pipeline.h"
#include "validator/executor/parallel/rank.h"
#include "validator/executor/step/token_source.h"

namespace hexaplan::validator {

/// Consecutive layers that a stage runs as one.
struct ModelChunk {
  costmodel::StageChunk at;
  bool first = false, last = false;
  std::vector<Unit*> layers;
  std::vector<bool> recomputed;  // per layer: only its input is kept
  std::vector<bool> offloaded;   // per layer: what it keeps waits on the host
  /// Multi-token prediction, behind the last layer.
  struct Module {
    Unit* unit = nullptr;
    bool recomputed = false;  // with its layer: their inputs are kept
  };
  std::vector<Module> modules;
};

/// Compiled programs of one rank, by what tells them apart.
class RankPrograms {
 public:
  explicit RankPrograms(const Rank& rank);
  /// `splits_backward`: weight gradients are a phase of their own.
  [[nodiscard]] const Runnable& layer(costmodel::LayerClass kind, bool recomputed, bool splits_backward);
  /// What comes before a multi-token-prediction module's layer.
  [[nodiscard]] const Runnable& before_layer(bool recomputed, bool splits_backward);
  [[nodiscard]] const Runnable& embedding() const { return embedding_; }
  /// Of the model, or of a multi-token-prediction module.
  [[nodiscard]] const Runnable& final_norm(bool of_module) const {
    return of_module ? module_norm_ : final_norm_;
  }
  [[nodiscard]] const Runnable& head() const { return head_; }
  [[nodiscard]] const costmodel::program::Sizes& sizes() const { return sizes_; }

 private:
  struct Variant {
    bool moe = false, unrotated = false, recomputed = false, splits_backward = false;
    friend auto operator<=>(const Variant&, const Variant&) = default;  // NOLINT(modernize-use-nullptr)
  };
  const costmodel::Scenario& scenario_;
  costmodel::program::Sizes sizes_;
  std::map<Variant, Runnable> layers_, before_layers_;  // frames point into them
  Runnable embedding_, final_norm_, module_norm_, head_;
};

/// One rank's part of the model and the tasks that a schedule makes of a step: a micro-batch forward through
/// a chunk, backward, or backward in two parts.
class Stage {
 public:
  Stage(Rank& rank, std::uint64_t seed);

  /// Tokens of one step of this rank. Before its first task.
  void load_tokens(const TokenSource& source, std::int64_t step);
  /// Runs what the schedule has for this stage, in order.
  void run(const std::vector<costmodel::Task>& tasks);

  [[nodiscard]] std::vector<Unit*> units();
  /// Sum of this rank's −log p(target) over its tokens, times 1/tokens of the global batch; of
  /// multi-token-prediction modules as much as their losses count. 1×1.
  [[nodiscard]] View loss() const { return losses_.view().slice(0, 1); }
  /// What the routers of this rank's layers added to the loss. 1×1.
  [[nodiscard]] View balance_loss() const { return losses_.view().slice(1, 1); }
  /// Gradients, loss and counters start at zero.
  void begin_step();
  /// After the last task: what is left to add up.
  void finish_gradients();

 private:
  /// One micro-batch inside one chunk.
  struct ModuleFrames {
    Frame before, layer, norm;
  };
  struct InFlight {
    std::vector<Frame> layers;
    std::optional<Frame> embedding, final_norm;
    std::vector<ModuleFrames> modules;
    std::vector<Tensor> loss_gradients;  // of what each loss has read, the last layer's first
    bool splits_backward = false;
  };
  void plan_chunks(std::uint64_t seed);
  [[nodiscard]] int gradients_of_unit(int index, int chunk) const;
  /// Micro-batches of a step that cross the chunk.
  [[nodiscard]] int microbatches_of(int chunk) const;
  void add_mirrored_gradients();
  void forward(const ModelChunk& chunk, InFlight& flight);
  void backward(const ModelChunk& chunk, InFlight& flight);
  void weight_gradients(const ModelChunk& chunk, InFlight& flight);
  void run_losses(const ModelChunk& chunk, InFlight& flight, Tensor x);
  /// `x` stays for the next module where there is one.
  [[nodiscard]] Tensor run_head(Tensor& x, int loss);
  [[nodiscard]] Tensor run_final_norm(InFlight& flight, Tensor x);
  [[nodiscard]] Tensor final_norm_gradient(InFlight& flight, Tensor d);
  [[nodiscard]] Tensor run_module(const ModelChunk::Module& module, int number, InFlight& flight, Tensor x);
  [[nodiscard]] Tensor module_gradient(const ModelChunk::Module& module, int number, InFlight& flight,
                                       Tensor d);
  [[nodiscard]] Tensor modules_gradient(const ModelChunk& chunk, InFlight& flight, Tensor d);
  [[nodiscard]] Tensor run_embedding(InFlight& flight);
  void embedding_gradient(InFlight& flight, Tensor d);
  void run_layer(Unit& unit, Frame& frame, costmodel::program::Phase phase);
  /// As the main model reads it, or the module behind which a further loss stands.
  [[nodiscard]] MicroBatch micro_batch(int loss = 0) const;
  /// What the model, or module `loss` − 1, has to say, row by row.
  [[nodiscard]] View targets_of(int loss) const;
  [[nodiscard]] Unit& words() { return tied_copy_ ? *tied_copy_ : *embedding_; }
  [[nodiscard]] Weights module_weights(const Unit& unit);
  [[nodiscard]] View tokens_of(const Tensor& all) const;

  Rank& rank_;
  std::uint64_t seed_;
  RankPrograms programs_;
  PipelineLink link_;
  std::vector<Unit> layers_;
  std::optional<Unit> embedding_, final_norm_, head_, tied_copy_;
  std::vector<ModelChunk> chunks_;
  std::map<std::pair<int, int>, InFlight> in_flight_;  // by micro-batch and chunk
  Tensor positions_, ids_, targets_, losses_;
};

}  // namespace hexaplan::validator
