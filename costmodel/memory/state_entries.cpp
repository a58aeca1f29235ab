#include <algorithm>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/optimizer_states.h"
#include "costmodel/memory/outer_states.h"
#include "costmodel/parameters/parameter_names.h"
#include "costmodel/parameters/trained_elements.h"

namespace hexaplan::costmodel {
namespace {

/// Of the parameters that are trained in full; of adapters in frameworks with fp32 masters.
DType full_parameter_dtype(const Scenario& sc) {
  if (is_quantized(sc.recipe.precision) || sc.recipe.precision == Precision::Bf16 ||
      sc.recipe.precision == Precision::Fp16) {
    return sc.recipe.parameter_dtype.value_or(sc.framework.parameter_dtype == DType::Bf16
                                                  ? activation_dtype(sc.recipe.precision)
                                                  : sc.framework.parameter_dtype);
  }
  return DType::Fp32;
}

/// Of frozen weights: nobody updates them, so they are loaded in the 16 bits that they are computed in,
/// whatever type the framework trains (huggingface/trl ModelConfig.dtype, pytorch/torchtune `dtype: bf16` of
/// its LoRA recipes).
DType frozen_dtype(const Scenario& sc) {
  return sc.recipe.parameter_dtype.value_or(activation_dtype(sc.recipe.precision));
}

/// Of parameters that have gradients. Adapters beside 16-bit weights are fp32 where no master copy stands
/// behind them (huggingface/peft PeftModel, autocast_adapter_dtype = True).
DType parameter_dtype(const Scenario& sc) {
  if (!trains_adapters(sc.recipe) || sc.recipe.parameter_dtype) return full_parameter_dtype(sc);
  return sc.framework.master_parameters ? full_parameter_dtype(sc) : DType::Fp32;
}

/// An update is smaller than the steps of 8 bits: whoever trains such parameters keeps a master copy
/// (NVIDIA/TransformerEngine fp8 primary weights, Megatron-LM --fp8-param-gather).
bool keeps_master(const Scenario& sc, DType parameter) {
  const int bits = bits_per_element(parameter);
  return bits < 16 || (sc.framework.master_parameters && bits < 32);
}

/// PyTorch's optimizers make their states like the parameter they belong to (torch/optim/adam.py zeros_like):
/// without a master copy, training in pure bf16 has bf16 moments.
DType usual_moment_dtype(const Scenario& sc, DType parameter) {
  return keeps_master(sc, parameter) || bits_per_element(parameter) >= 32 ? sc.framework.moment_dtype
                                                                          : parameter;
}

DType gradient_dtype(const Scenario& sc, DType parameter) {
  if (sc.recipe.gradient_dtype) return *sc.recipe.gradient_dtype;
  // Autograd's own gradients have the parameter's dtype. Frameworks with fp32 main gradients make them for
  // bf16 only; fp16 keeps its gradients and scales the loss (Megatron-LM megatron/training/arguments.py,
  // accumulate_allreduce_grads_in_fp32). Training in fp32 has nothing narrower.
  const DType own = bits_per_element(parameter) < 16 ? activation_dtype(sc.recipe.precision) : parameter;
  if (trains_in_fp32(sc) || !sc.framework.master_parameters || parameter == DType::Fp16) return own;
  return sc.framework.gradient_dtype;
}

/// Offloaded optimizers keep the gradients that they read beside them, in host memory, as soon as gradients
/// are sharded (arXiv:2101.06840 §4).
bool offloads_gradients(const Scenario& sc) {
  return (sc.recipe.offload & kOffloadOptimizer) != 0 && sc.layout.sharding.stage >= 2;
}

/// True where a module that trains as a whole beside adapters has the tensor.
bool is_of_saved_module(const Recipe& recipe, const ParameterTensor& t) {
  if (t.name == name_of(Parameter::EmbeddingWordWeight)) return trains_embedding(recipe);
  const bool head = t.name == name_of(Parameter::HeadWeight) || t.name == name_of(Parameter::HeadBias);
  return head && trains_head(recipe);
}

/// True where PyTorch's DDP has buckets for all gradients.
bool keeps_buckets(const Scenario& sc) {
  return sc.framework.replicas_keep_buckets && sc.layout.sharding.stage == 0 &&
         sc.layout.dp * sc.layout.cp > 1;
}

/// Ranks that share one copy of a state at ZeRO stage `stage`.
double shards(const Scenario& sc, bool expert, int stage) {
  if (sc.layout.sharding.stage < stage) return 1;
  const double dense = sc.layout.shard_ranks();
  if (!expert) return dense;
  const double whole = static_cast<double>(sc.layout.dp) * sc.layout.cp;
  return std::max(1.0, sc.layout.expert_data() * dense / whole);
}

class StateAppender {
 public:
  StateAppender(const Scenario& sc, const std::vector<ParameterTensor>& tensors, int layer_class,
                double count, StatePlace place, TensorLedger& out)
      : sc_{sc},
        layer_class_{layer_class},
        count_{count},
        place_{place},
        out_{out},
        trained_{sc, tensors, layer_class >= 0},
        mixes_frozen_{layer_class >= 0 && reduces_frozen_weights(sc)},
        own_types_{own_state_types(sc)},
        beside_types_{state_types(sc)},
        types_{beside_types_} {}

  void append(const ParameterTensor& tensor) {
    const auto elements =
        static_cast<double>(elements_on_rank(tensor, sc_.model, sc_.layout, sc_.framework.vocab_multiple));
    const bool expert = is_expert(tensor);
    const bool frozen = trains_adapters(sc_.recipe);
    const bool quantised = is_kept_quantised(sc_, tensor, layer_class_ >= 0);
    const double parameter_shards = shards(sc_, expert, parameter_stage());
    if (quantised) {
      for (const KeptPart& part : quantised_parts(sc_.recipe, tensor))
        append_parameters(tensor, part.dtype, elements / parameter_shards * part.per_element);
    }
    const double own = trained_.own(tensor, elements), beside = trained_.of(tensor, elements) - own;
    const bool adapters = frozen && sc_.recipe.fine_tune != FineTune::Ia3;  // which has no matrices
    if (frozen && !quantised) {
      const bool copied = sc_.framework.copies_saved_modules && is_of_saved_module(sc_.recipe, tensor);
      append_parameters(tensor, frozen_dtype(sc_), (elements - (copied ? 0 : own)) / parameter_shards);
    }
    append_parameters(tensor, own_types_.parameter, own / parameter_shards);
    append_cast(tensor, elements + (adapters ? beside : 0));
    append_parameters(tensor, beside_types_.parameter, beside / parameter_shards);
    types_ = own_types_;
    append_updates(tensor, own, own, expert);
    types_ = beside_types_;
    append_updates(tensor, beside, beside + (mixes_frozen_ ? elements - own : 0), expert);
  }

 private:
  /// What gradients and optimizer keep of so many elements. `reduced`: those that gradients have room for.
  void append_updates(const ParameterTensor& tensor, double elements, double reduced, bool expert) {
    if (reduced <= 0) return;
    append_gradients(tensor, reduced, expert);
    append_optimizer(tensor, elements, expert);
    append_outer(elements / shards(sc_, expert, 1));
  }

  /// Share of the parameters that the host has.
  [[nodiscard]] double offloaded_parameters() const {
    return (sc_.recipe.offload & kOffloadParameters) != 0 && sc_.layout.sharding.stage >= 3 ? 1 : 0;
  }

  void append_parameters(const ParameterTensor& tensor, DType dtype, double elements) {
    add(tensor, TensorKind::Parameter, dtype, elements, kAlways, offloaded_parameters());
  }

  /// ZeRO stage from which parameters are cut.
  [[nodiscard]] int parameter_stage() const { return sc_.framework.zero2_gathers_layers ? 2 : 3; }

  /// Autocast keeps its copies of matrices until their products' backward; where layers run again, until the
  /// forward pass has ended. Grouped products of experts are not cast
  /// (torch 2.15 has no rule for them).
  void append_cast(const ParameterTensor& tensor, double elements) {
    if (!tensor.matrix || is_expert(tensor) || place_ == StatePlace::Host || !casts_automatically(sc_))
      return;
    const bool again = sc_.recipe.recompute.mode == RecomputeMode::Full;
    const std::uint8_t alive = layer_class_ < 0 ? std::uint8_t{kLoss | kHeadBackward}
                               : again          ? std::uint8_t{kForward}
                                                : kInPasses;
    add({.name = "parameter.cast"}, TensorKind::Transient, activation_dtype(sc_.recipe.precision), elements,
        alive);
  }

  /// Gradients of replicas that are views of DDP's buckets take no memory of their own.
  [[nodiscard]] bool views_buckets() const {
    return keeps_buckets(sc_) && sc_.framework.gradients_view_buckets;
  }

  void append_gradients(const ParameterTensor& tensor, double elements, bool expert) {
    const bool whole_step = sc_.framework.persistent_gradients;
    const std::uint8_t alive = whole_step ? kAlways
                               : microbatches_per_step(sc_) > 1
                                   ? static_cast<std::uint8_t>(kInPasses | kOptimizer)
                                   : static_cast<std::uint8_t>(kOptimizer);
    const int stage = gradients_cut_from(sc_);
    const double offloaded = offloaded_update(sc_.recipe);
    // The CPU's update reads fp32 (deepspeedai/DeepSpeed stage_1_and_2.py, single_partition_of_fp32_groups).
    if (place_ == StatePlace::Host)
      add(tensor, TensorKind::Gradient, DType::Fp32, elements / shards(sc_, expert, 1), kAlways, offloaded);
    if (place_ == StatePlace::Host) return;
    if (keeps_buckets(sc_))
      add({.name = "gradient.bucket"}, TensorKind::Gradient, types_.gradient, elements, kAlways);
    if (sc_.recipe.optimizer_in_backward || views_buckets()) return;
    // The executor opens them in the first backward pass: its replay knows when.
    const bool waits =
        gradient_reduction(sc_) == GradientReduction::Once && !sc_.framework.replays_parameters;
    if (waits)
      add({.name = "gradient.unreduced"}, TensorKind::Gradient, waiting_gradient_dtype(sc_), elements,
          kInPasses);
    add(tensor, TensorKind::Gradient, types_.gradient, elements / shards(sc_, expert, stage),
        waits && !whole_step ? std::uint8_t{kOptimizer} : alive, offloads_gradients(sc_) ? offloaded : 0);
    const bool replicated = sc_.layout.dp * sc_.layout.cp > 1 && sc_.layout.sharding.stage == 0;
    const bool copied = replicated || !sc_.framework.gradient_copies_are_buckets;
    if (types_.gradient != types_.parameter && sc_.layout.sharding.stage < 3 && copied &&
        !offloads_gradients(sc_)) {
      add(tensor, TensorKind::Gradient, types_.parameter, elements * sc_.framework.extra_gradient_copies,
          alive);
    }
  }

  void append_optimizer(const ParameterTensor& tensor, double elements, bool expert) {
    const double cut = shards(sc_, expert, 1), offloaded = offloaded_update(sc_.recipe);
    const bool by_matrix = is_updated_by_matrix(sc_, tensor, layer_class_ >= 0);
    const OptimizerTraits traits = traits_in(sc_, optimizer_of(sc_.recipe, by_matrix));
    const auto add_state = [&](DType dtype, double of_rank) {
      add(tensor, TensorKind::OptimizerState, dtype, of_rank / cut, kAlways, offloaded);
    };
    for (const KeptState& state : kept_states(types_, traits))
      add_state(state.dtype, elements / state.parameters);
    if (traits.factored)
      add(tensor, TensorKind::OptimizerState, DType::Fp32, factors(tensor, elements), kAlways, offloaded);
    if (traits.projects()) append_subspaces(tensor, elements);
    if (traits.preconditions() && by_matrix) append_preconditioners(tensor, elements);
  }

  void append_preconditioners(const ParameterTensor& tensor, double elements) {
    const LocalMatrices matrices = local_matrices(sc_.layout, tensor, elements);
    add(tensor, TensorKind::OptimizerState, DType::Fp32, preconditioner_states(sc_.recipe, matrices).elements,
        kAlways);
  }

  /// Of outer steps: the parameters of the last one, and the momentum.
  void append_outer(double elements) {
    constexpr std::string_view kNames[] = {"outer.copy", "outer.momentum"};
    const int on_host = outer_states_on_host(sc_.recipe.outer);
    const int kept = on_host + outer_states_on_gpu(sc_.recipe.outer);
    for (int i = 0; i < kept; ++i)
      add({.name = kNames[i]}, TensorKind::OptimizerState, DType::Fp32, elements, kAlways,
          i < on_host ? 1 : 0);
  }

  void append_subspaces(const ParameterTensor& tensor, double elements) {
    const SubspaceStates kept =
        subspace_states(types_, sc_.recipe, local_matrices(sc_.layout, tensor, elements));
    add(tensor, TensorKind::OptimizerState, kept.projection_dtype, kept.projection, kAlways);
    add(tensor, TensorKind::OptimizerState, kept.moment_dtype, kept.moments, kAlways);
    add(tensor, TensorKind::OptimizerState, DType::Fp32, kept.scales + kept.lengths, kAlways);
  }

  /// Adafactor's sums, which ranks that share a buffer all keep. Of adapters beside a tensor: of their pairs
  /// of thin matrices about its rows and columns.
  [[nodiscard]] double factors(const ParameterTensor& tensor, double elements) const {
    if (!trains_adapters(sc_.recipe) || tensor.adapter || own_share(sc_, tensor.name) > 0)
      return elements > 0 ? factored_sums(sc_.layout, tensor, elements).count() : 0;
    return std::min(elements, static_cast<double>((tensor.rows + tensor.cols) * tensor.count));
  }

  /// `offloaded`: share of the elements that the host has.
  void add(const ParameterTensor& tensor, TensorKind kind, DType dtype, double elements, std::uint8_t alive,
           double offloaded = 0) {
    elements *= place_ == StatePlace::Host ? offloaded : 1 - offloaded;
    if (elements <= 0) return;
    out_.push_back({.name = tensor.name,
                    .formula = "M1",
                    .kind = kind,
                    .dtype = dtype,
                    .alive = alive,
                    .layer_class = static_cast<std::int8_t>(layer_class_),
                    .elements = elements,
                    .count = count_});
  }

  const Scenario& sc_;
  int layer_class_;
  double count_;
  StatePlace place_;
  TensorLedger& out_;
  TrainedElements trained_;
  bool mixes_frozen_;                    // frozen weights have room in the gradient of their unit
  StateTypes own_types_, beside_types_;  // of the model's own parameters that train, and of adapters
  StateTypes types_;                     // of what is appended
};

}  // namespace

DType usual_moment_dtype(const Scenario& sc) {
  return usual_moment_dtype(sc, parameter_dtype(sc));
}

namespace {

StateTypes types_beside(const Scenario& sc, DType parameter) {
  return {.parameter = parameter,
          .gradient = gradient_dtype(sc, parameter),
          .moment = sc.recipe.moment_dtype.value_or(usual_moment_dtype(sc, parameter)),
          .frozen = frozen_dtype(sc),
          .master = keeps_master(sc, parameter)};
}

}  // namespace

StateTypes state_types(const Scenario& sc) {
  return types_beside(sc, parameter_dtype(sc));
}

StateTypes own_state_types(const Scenario& sc) {
  const bool loaded = trains_adapters(sc.recipe) && !sc.framework.master_parameters;
  return types_beside(sc, loaded ? frozen_dtype(sc) : parameter_dtype(sc));
}

double in_state_types(const Scenario& sc, double elements, double own) {
  if (own <= 0 || !trains_adapters(sc.recipe)) return elements;
  const double share =
      bytes_per_element(own_state_types(sc).parameter) / bytes_per_element(state_types(sc).parameter);
  return elements - own + own * share;
}

double in_gradient_types(const Scenario& sc, double elements, double own) {
  const bool one_type = gathers_layers(sc) || sc.framework.reduces_in_fp32;
  if (own <= 0 || !trains_adapters(sc.recipe) || one_type) return elements;
  const double share =
      bytes_per_element(own_state_types(sc).gradient) / bytes_per_element(state_types(sc).gradient);
  return elements - own + own * share;
}

bool casts_automatically(const Scenario& sc) {
  const bool narrow = bits_per_element(activation_dtype(sc.recipe.precision)) == 16;
  return sc.framework.autocasts && narrow && full_parameter_dtype(sc) == DType::Fp32 &&
         (!trains_adapters(sc.recipe) || frozen_dtype(sc) == DType::Fp32);
}

bool widens_gradients(const Scenario& sc) {
  const DType parameter = parameter_dtype(sc);
  return keeps_master(sc, parameter) && bits_per_element(gradient_dtype(sc, parameter)) < 32 &&
         (sc.recipe.offload & kOffloadOptimizer) == 0;
}

void append_state_entries(const Scenario& sc, const std::vector<ParameterTensor>& tensors, int layer_class,
                          double count, TensorLedger& out, StatePlace place) {
  StateAppender appender{sc, tensors, layer_class, count, place, out};
  for (const ParameterTensor& tensor : tensors) appender.append(tensor);
}

double elements_before_sharding(const Scenario& sc, const std::vector<ParameterTensor>& tensors) {
  double sum = 0;
  for (const ParameterTensor& tensor : tensors) {
    sum += static_cast<double>(elements_on_rank(tensor, sc.model, sc.layout, sc.framework.vocab_multiple));
  }
  return sum;
}

}  // namespace hexaplan::costmodel
