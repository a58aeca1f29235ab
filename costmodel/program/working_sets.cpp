#include "costmodel/program/working_sets.h"

#include <algorithm>
#include <utility>

#include "costmodel/memory/ledger_rows.h"
#include "costmodel/program/fold.h"
#include "costmodel/program/sizes.h"
#include "costmodel/program/variants.h"

namespace hexaplan::costmodel::program {
namespace {

DType dtype_of(Type type, const Scenario& sc) {
  switch (type) {
    case Type::Activation:
      return activation_dtype(sc.recipe.precision);
    case Type::Fp32:
    case Type::Int32:
      return DType::Fp32;
    case Type::Byte:
      return DType::Int8;
    case Type::Quantised:
      break;
  }
  return DType::Fp8;
}

const Variant& layer_of(const Scenario& sc, LayerClass kind, bool recomputed) {
  return variant_of(sc, Part::Layer, kind, techniques_of(sc, recomputed));
}

void append_kept_of(const Variant& part, const Scenario& sc, const LocalDims& dims, LayerClass kind,
                    TensorLedger& out) {
  const std::size_t first = out.size();
  for (const KeptValue& value : part.footprint.kept(sizes_of(sc, dims))) {
    if (value.bytes <= Bytes{}) continue;  // others are kept instead
    const DType type = dtype_of(value.type, sc);
    const double elements = value.bytes.value() / bytes_per_element(type);
    const auto same = [&](const TensorEntry& e) {
      return e.name == name_of(value.tensor) && e.dtype == type;
    };
    const auto row =
        std::find_if(out.begin() + static_cast<TensorLedger::difference_type>(first), out.end(), same);
    if (row != out.end()) {
      row->elements += elements;
    } else {
      out.push_back({.name = name_of(value.tensor),
                     .formula = "M2",
                     .kind = TensorKind::Activation,
                     .dtype = type,
                     .alive = kInPasses,
                     .layer_class = static_cast<std::int8_t>(index_of(kind)),
                     .elements = elements});
    }
  }
}

}  // namespace

void append_kept_values(const Scenario& sc, const LocalDims& dims, LayerClass kind, TensorLedger& out) {
  append_kept_of(layer_of(sc, kind, false), sc, dims, kind, out);
}

void append_kept_before_layer(const Scenario& sc, const LocalDims& dims, LayerClass kind, bool recomputed,
                              TensorLedger& out) {
  if (kind.mtp)
    append_kept_of(variant_of(sc, Part::Mtp, {}, techniques_of(sc, recomputed)), sc, dims, kind, out);
}

void append_working_sets(const Scenario& sc, const LocalDims& dims, LayerClass kind, bool recomputed,
                         TensorLedger& out) {
  const Sizes sizes = sizes_of(sc, dims);
  const Variant& layer = layer_of(sc, kind, recomputed);
  const FoldedPhases phases = layer.footprint.fold(sizes);
  // A layer begins with its input, which becomes the output; backward with the output's gradient.
  const double input = sizes.bytes(layer.program.of(layer.program.input));
  const PassBytes &forward = phases[0].highest(), &backward = phases[1].highest();
  LedgerRows append{out, index_of(kind)};
  const bool apart = sc.framework.keeps_what_backward_reads;
  // What is dropped for recomputation is there while forward runs.
  const double dropped = apart ? 0 : std::max(0.0, forward.activations - phases[0].net().activations);
  append.bytes("forward.working_set", TensorKind::Transient, input + forward.transient + dropped, kForward);
  // What backward has consumed makes room for what it makes.
  const double made = backward.transient + (apart ? 0 : backward.activations);
  // An input that ranks have cut among them is gathered.
  const double gathered = recomputed && cuts_checkpoints(sc) ? input * (1 - 1.0 / sc.layout.tp) : 0;
  append.bytes("backward.working_set", TensorKind::Transient, input + gathered + made, kBackward);
  append.bytes("backward.consumed", TensorKind::Activation, apart ? backward.activations : 0, kBackward);
}

void append_embedding_working_set(const Scenario& sc, const LocalDims& dims, TensorLedger& out) {
  const Variant& embedding = variant_of(sc, Part::Embedding, {}, techniques_of(sc, false));
  const FoldedPhases phases = embedding.footprint.fold(sizes_of(sc, dims));
  LedgerRows{out, -1}.bytes("embedding.working_set", TensorKind::Transient, phases[0].rise(), kForward);
}

void append_gather_buffers(const Scenario& sc, const LocalDims& dims, TensorLedger& out) {
  const Techniques t = techniques_of(sc, false);
  if (!t.sequence || !t.shares_gather_buffers || !t.gathers_inputs_again) return;
  LedgerRows{out, -1}.bytes(
      "tensor_parallel.gathered", TensorKind::Transient,
      sc.framework.sp_gather_buffers * sizes_of(sc, dims).bytes({Rows::Tokens, Width::Hidden}),
      kForward | kBackward);
}

void append_head_working_sets(const Scenario& sc, const LocalDims& dims, TensorLedger& out) {
  const Sizes sizes = sizes_of(sc, dims);
  const Variant& head = variant_of(sc, Part::Head, {}, techniques_of(sc, false));
  const FoldedPhases phases = head.footprint.fold(sizes);
  const PassBytes loss = phases[0].highest(), backward = phases[0].net() + phases[1].highest();
  const double input = sizes.bytes(kHiddenStates);
  LedgerRows append{out, -1};
  for (const auto& [instant, peak] : {std::pair{kLoss, loss}, {kHeadBackward, backward}}) {
    append.bytes("head.logits", TensorKind::Logits, peak.logits, instant);
    append.bytes("head.working_set", TensorKind::Transient, input + peak.transient, instant);
    append.bytes("head.input_gradient", TensorKind::Activation, peak.activations, instant);
  }
}

void append_head_gradient(const Scenario& sc, const LocalDims& dims, TensorLedger& out) {
  LedgerRows{out, -1}.bytes("head.input_gradient", TensorKind::Activation,
                            sizes_of(sc, dims).bytes(kHiddenStates), kInPasses);
}

}  // namespace hexaplan::costmodel::program
