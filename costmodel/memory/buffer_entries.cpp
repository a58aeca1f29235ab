#include <algorithm>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/outer_states.h"
#include "costmodel/memory/unit_buffers.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/shard_sizes.h"

namespace hexaplan::costmodel {
namespace {

class BufferAppender {
 public:
  BufferAppender(const Scenario& sc, TensorLedger& out)
      : sc_{sc},
        f_{sc.framework},
        sizes_{shard_sizes(sc)},
        gathered_{gathered_dtype(sc)},
        reduced_{reduced_gradient_dtype(sc)},
        out_{out} {}

  void buckets(const StageElements& elements) {
    if (sc_.layout.dp * sc_.layout.cp == 1 || f_.contiguous_gradient_buffer) return;
    if (f_.whole_gradient_bucket) return whole_buckets();
    const double bucket = sizes_.reduce_bucket + f_.gradient_bucket_per_rank * sc_.layout.dp;
    add("gradient.bucket", TensorKind::Transient, reduced_, std::min(bucket, elements.reduced),
        kBackward | kOptimizer);
    add("parameter.gather_bucket", TensorKind::Transient, gathered_,
        sc_.layout.sharding.stage >= 1 ? std::min(f_.gather_bucket_elements, elements.trained) : 0,
        kOptimizer);
  }

  /// DeepSpeed allocates them whole, whatever they hold: ZeRO-3 when it is made (runtime/zero/stage3.py
  /// initialize_optimizer_states' end), ZeRO-1 and 2 when a backward begins (stage_1_and_2.py setup_buckets,
  /// _release_ipg_buffers); without ZeRO its engine flattens gradients as they are.
  void whole_buckets() {
    const int stage = sc_.layout.sharding.stage;
    if (stage == 0) return;
    const bool doubled = stage < 3 && overlaps_gradients(sc_);
    add("gradient.bucket", TensorKind::Transient, reduced_, sizes_.reduce_bucket * (doubled ? 2 : 1),
        stage >= 3 ? kAlways : kHeadBackward | kBackward);
  }

  /// Of the module that runs, of those fetched ahead, of the last layers until their backward, and between a
  /// layer's second forward and its backward; gradients of a bucket once more, flat, while it is reduced
  /// (runtime/comm/coalesced_collectives.py reduce_scatter_coalesced).
  void gathered_by_module(const StageElements& elements) {
    const double inner = elements.gathered_layers, module = elements.largest_module;
    const double kept = kept_for_backward(sc_, inner, elements.gathered_head);
    const double recomputed =
        sc_.recipe.recompute.of_layers()
            ? kept_for_recomputation(sc_, elements.largest_gathered) * elements.largest_gathered
            : 0;
    const double ahead = std::min(fetched_ahead(sizes_, module), inner);
    add("parameter.gathered", TensorKind::Transient, gathered_, std::max(module, kept), kForward);
    add("parameter.gathered", TensorKind::Transient, gathered_, std::max({module, kept, recomputed}),
        kBackward);
    add("parameter.prefetched", TensorKind::Transient, gathered_, ahead, kForward | kBackward);
    add("parameter.gathered", TensorKind::Transient, gathered_, elements.gathered_head + kept,
        kLoss | kHeadBackward);
    add("parameter.persistent", TensorKind::Parameter, gathered_, elements.persistent, kAlways);
    if (elements.largest_reduced > 0)
      add("gradient.unsharded", TensorKind::Transient, gathered_, module, kBackward);
    add("gradient.unsharded", TensorKind::Transient, reduced_,
        std::min(sizes_.reduce_bucket, elements.reduced), kBackward);
    if (!trains_head(sc_.recipe)) return;
    add("gradient.unsharded", TensorKind::Transient, reduced_, elements.reduced_head, kHeadBackward);
    // Autograd adds the gradients of a table that is embedding and head before a hook sees them: the head's
    // waits for the embedding's (pytorch/pytorch torch/csrc/autograd/input_buffer.h).
    add("gradient.unsharded", TensorKind::Transient, gathered_, elements.tied_head,
        kHeadBackward | kBackward);
  }

  /// ZeRO-3: parameters of the running layer and of those prefetched, and the gradient of the running one.
  void gathered(const StageElements& elements) {
    if (!gathers_layers(sc_) || sc_.layout.shard_ranks() == 1) return;
    if (f_.gathers_by_module) return gathered_by_module(elements);
    const double inner = elements.gathered_layers;
    const double running = (1 + f_.gather_prefetch_layers) * elements.largest_gathered;
    const bool stays = !f_.reshard_after_forward || sc_.layout.sharding.stage < 3;
    const double layers = stays ? inner : running;
    const bool root = f_.gather_ends_for_whole_step;
    const double ends = root ? elements.head + elements.embedding : 0;
    add("parameter.gathered", TensorKind::Transient, gathered_, layers + ends, kForward | kBackward);
    // The backward of the head's unit, which prefetches the last layer, begins behind the loss.
    const double beside = stays ? inner : elements.largest_gathered;
    const bool later = (root || f_.head_unit_stays_gathered) && !stays;
    add("parameter.gathered", TensorKind::Transient, gathered_,
        std::max(ends, elements.head) + (later ? 0 : beside), kLoss);
    add("parameter.gathered", TensorKind::Transient, gathered_, std::max(ends, elements.head) + beside,
        kHeadBackward);
    add("gradient.unsharded", TensorKind::Transient, gathered_, elements.largest_reduced, kBackward);
    add("gradient.unsharded", TensorKind::Transient, reduced_, elements.largest_reduced, kBackward);
    if (!trains_head(sc_.recipe) && !trains_embedding(sc_.recipe)) return;
    if (root) {
      // The head's gradient waits for the embedding's.
      const double waiting = trains_head(sc_.recipe) ? elements.head_matrix : 0;
      add("gradient.unsharded", TensorKind::Transient, gathered_, waiting, kBackward);
      return last_gradients(elements, elements.reduced_head + elements.reduced_embedding, waiting);
    }
    if (!f_.head_unit_stays_gathered)
      return add("gradient.unsharded", TensorKind::Transient, reduced_, elements.reduced_head, kHeadBackward);
    head_unit_gradients(elements);
    last_gradients(elements, elements.reduced_embedding, 0);
  }

  /// Of a head that is a unit of its own, per element of its matrix: what its gradient takes beyond what is
  /// counted beside the logits, which have gone when it is cast and reduced. A loss made of chunks adds up
  /// gradients in the type of the reduction, and gathers the head again for the norm that shares its unit.
  void head_unit_gradients(const StageElements& elements) {
    if (elements.reduced_head <= 0) return;
    const double reduced = bytes_per_element(reduced_), gathered = bytes_per_element(gathered_);
    const double tokens = static_cast<double>(sc_.recipe.micro_batch * sc_.recipe.sequence) / sc_.layout.cp;
    const double chunks = made_of_chunks(sc_);
    const double share = tokens / static_cast<double>(sc_.model.hidden) / chunks;  // logits per element
    const double logits = share * bytes_per_element(activation_dtype(sc_.recipe.precision));
    const auto add_bytes = [&](double per_element, Instant instant) {
      add("gradient.unsharded", TensorKind::Transient, DType::Int8,
          elements.reduced_head * std::max(0.0, per_element), instant);
    };
    if (chunks == 1) return add_bytes(reduced - gathered - logits, kHeadBackward);
    const double in_fp32 = share * 4 * (f_.logit_copies_fp32 + f_.logit_transient_fp32);
    add_bytes(std::max(reduced, 2 * reduced + gathered - in_fp32), kLoss);
    const double shard = reduced / sc_.layout.shard_ranks();
    const double beside = elements.largest_gathered * gathered / elements.reduced_head;
    add_bytes(reduced + shard - logits - beside, kHeadBackward);
  }

  /// Of the unit that is reduced when the backward pass has ended, embedding and head or the embedding alone:
  /// its gradient is cast and cut, while the layers' lie there cut. Before, the first layer's was, beside the
  /// unit's gathered parameters and the gradient of `waiting` of them.
  void last_gradients(const StageElements& elements, double ends, double waiting) {
    const double ranks = sc_.layout.shard_ranks();
    const double gathered = bytes_per_element(gathered_), reduced = bytes_per_element(reduced_);
    add("gradient.unsharded", TensorKind::Transient, gathered_, ends, kOptimizer);
    const double own = ends * (1 - 1 / ranks) * reduced;
    const double layer = (elements.largest_gathered + elements.largest_reduced + waiting) * gathered +
                         elements.largest_reduced * (1 - 1 / ranks) * reduced - ends / ranks * reduced;
    const double cast = std::max(own, layer);
    // Before, while the unit's parameters are still gathered, DTensor makes the embedding's gradient.
    const bool whole = f_.whole_embedding_gradient && sc_.layout.tp > 1;
    const double made = (elements.reduced_embedding * sc_.layout.tp + ends) * bytes_per_element(gathered_) -
                        ends / ranks * bytes_per_element(reduced_);
    if (whole && made > cast)
      return add("gradient.whole_embedding", TensorKind::Transient, DType::Int8, made, kOptimizer);
    add("gradient.unsharded", TensorKind::Transient, DType::Int8, cast, kOptimizer);
  }

  /// Gradients that stay until the optimizer's step: the head's is there when the first layer's backward
  /// runs.
  void head_gradient(const StageElements& elements) {
    const bool waits = !f_.persistent_gradients && microbatches_per_step(sc_) == 1 &&
                       sc_.layout.sharding.stage < 2 && trains_head(sc_.recipe) &&
                       !sc_.recipe.optimizer_in_backward;
    if (waits)
      add("gradient.head", TensorKind::Gradient, own_state_types(sc_).gradient, elements.head_matrix,
          kBackward);
  }

  /// Autocast's copy of an output matrix that is the embedding's table, which is no matrix of its own.
  void tied_cast(const StageElements& elements) {
    if (!casts_automatically(sc_) || elements.head >= elements.head_matrix) return;
    add("parameter.cast", TensorKind::Transient, activation_dtype(sc_.recipe.precision), elements.head_matrix,
        kLoss | kHeadBackward);
  }

  void secondary_partition(const StageElements& elements) {
    if (secondary_on_host(sc_)) return;
    add("parameter.secondary_partition", TensorKind::Parameter, gathered_, secondary_elements(sc_, elements),
        kAlways);
  }

  /// Autograd adds the two gradients of a tied embedding when the second one, the table's, is complete: at
  /// the end of the backward pass.
  void tied_embedding(const StageElements& elements) {
    const bool both =
        sc_.model.tied_embeddings && !separates_ends(sc_.layout) && sc_.layout.sharding.stage < 3;
    if (!both || f_.persistent_gradients || trains_adapters(sc_.recipe)) return;
    // Their sum is a third buffer.
    const double copies = sc_.recipe.optimizer_in_backward ? 3 : 2;
    add("gradient.tied_embedding", TensorKind::Transient, state_types(sc_).gradient,
        elements.embedding * copies, kOptimizer);
  }

  void placeholders(const StageElements& elements) {
    if (!f_.placeholder_weight_gradients || trains_adapters(sc_.recipe)) return;
    add("gradient.placeholders", TensorKind::Transient, gathered_, elements.distinct_matrices, kAlways);
    // The output layer is Megatron's own and makes its placeholder anew
    // (megatron/core/tensor_parallel/layers.py LinearWithGradAccumulationAndAsyncCommunication).
    add("head.gradient_placeholder", TensorKind::Transient, gathered_, elements.head_matrix, kHeadBackward);
  }

  void streams(const LocalDims& d) {
    const DType compute = activation_dtype(sc_.recipe.precision);
    if (sc_.layout.sp) {
      add("tensor_parallel.gather_buffer", TensorKind::Transient, compute,
          static_cast<double>(d.tokens * d.hidden) * f_.sp_persistent_buffers, kAlways);
    }
  }

  void receives(const LocalDims& d) {
    const auto stream = static_cast<double>(d.sp_tokens * d.hidden);
    const DType compute = activation_dtype(sc_.recipe.precision);
    if (sc_.layout.pp > 1)
      add("pipeline.receive_buffers", TensorKind::Transient, compute, 2 * stream, kInPasses);
  }

  void optimizer(const StageElements& elements) {
    const double cut = sc_.layout.sharding.stage >= 1 ? sc_.layout.shard_ranks() : 1;
    const double trained = widens_gradients(sc_) ? elements.trained / cut : 0;
    const double at_a_time = sc_.layout.sharding.stage >= 3 && sizes_.update_group > 0
                                 ? std::min(trained, sizes_.update_group)
                                 : trained;
    add("optimizer.temporaries", TensorKind::Transient, DType::Int8, at_a_time * f_.optimizer_transient_bytes,
        kOptimizer);
    const std::uint8_t updates = sc_.recipe.optimizer_in_backward ? kBackward | kOptimizer : kOptimizer;
    const bool preconditions = traits_of(sc_.recipe.optimizer).preconditions();
    add(preconditions ? "optimizer.preconditioning" : "optimizer.projection", TensorKind::Transient,
        DType::Int8, elements.matrix_update_bytes + elements.listed_update_bytes, updates);
    add("outer.gradient", TensorKind::Transient, DType::Int8,
        elements.trained / cut * outer_transient_bytes(sc_.recipe.outer, sc_.layout.outer_replicas > 1),
        kOptimizer);
    const bool gathers = cut > 1 && sc_.layout.sharding.stage < 3 && f_.flat_gather_copies > 0;
    add("parameter.flat_gather", TensorKind::Transient, gathered_,
        gathers ? (f_.flat_gather_copies + 1 / cut) * elements.trained : 0, kOptimizer);
  }

  void device(const DeviceOverhead& overhead) {
    add("communicators", TensorKind::Communication, DType::Int8, overhead.communicators.value(), kAlways);
    add("library.workspace", TensorKind::Transient, DType::Int8, f_.library_workspace.value(), kAlways);
    add("context", TensorKind::Overhead, DType::Int8, overhead.context.value(), kAlways);
  }

 private:
  void add(std::string_view name, TensorKind kind, DType dtype, double elements, std::uint8_t alive) {
    if (elements <= 0) return;
    out_.push_back(
        {.name = name, .formula = "M6", .kind = kind, .dtype = dtype, .alive = alive, .elements = elements});
  }

  const Scenario& sc_;
  const FrameworkProfile& f_;
  ShardSizes sizes_;
  DType gathered_, reduced_;  // in which parameters and gradients travel
  TensorLedger& out_;
};

}  // namespace

double secondary_elements(const Scenario& sc, const StageElements& elements) {
  const int hpz = sc.layout.sharding.hpz;
  if (sc.layout.sharding.stage < 3 || hpz <= 1 || sc.layout.shard_ranks() == 1) return 0;
  return (elements.gathered_layers + elements.embedding + elements.head) / hpz;
}

void append_parameter_buffers(const Scenario& sc, const StageElements& elements, TensorLedger& out) {
  BufferAppender buffers{sc, out};
  buffers.buckets(elements);
  buffers.gathered(elements);
  buffers.head_gradient(elements);
  buffers.tied_cast(elements);
  buffers.secondary_partition(elements);
  buffers.tied_embedding(elements);
  buffers.placeholders(elements);
  buffers.optimizer(elements);
}

void append_stream_buffers(const Scenario& sc, const LocalDims& d, TensorLedger& out) {
  if (sc.framework.replays_parameters) return append_step_numbers(d, out);
  BufferAppender{sc, out}.streams(d);
}

void append_receive_buffers(const Scenario& sc, const LocalDims& d, TensorLedger& out) {
  if (!sc.framework.replays_parameters) BufferAppender{sc, out}.receives(d);
}

void append_device_entries(const Scenario& sc, const DeviceOverhead& overhead, TensorLedger& out) {
  BufferAppender{sc, out}.device(overhead);
}

}  // namespace hexaplan::costmodel
