#include "costmodel/program/working_sets.h"

#include "costmodel/program/fold.h"
#include "costmodel/program/sizes.h"
#include "costmodel/program/variants.h"

namespace hexaplan::costmodel::program {
namespace {

constexpr Shape kHiddenStates{Rows::Hidden, Width::Hidden};

class RowAppender {
 public:
  RowAppender(TensorLedger& out, int layer_class) : out_{out}, layer_class_{layer_class} {}
  void bytes(std::string_view name, TensorKind kind, double size, std::uint8_t alive) {
    if (size == 0) return;
    out_.push_back({.name = name,
                    .formula = "M8",
                    .kind = kind,
                    .dtype = DType::Int8,
                    .alive = alive,
                    .layer_class = static_cast<std::int8_t>(layer_class_),
                    .elements = size});
  }

 private:
  TensorLedger& out_;
  int layer_class_;
};

const Program& layer_of(const Scenario& sc, LayerClass kind, bool recomputed) {
  return variant_of(sc, Part::Layer, kind, techniques_of(sc, recomputed)).program;
}

}  // namespace

void append_kept_values(const Scenario& sc, const LocalDims& dims, LayerClass kind, TensorLedger& out) {
  RowAppender append{out, index_of(kind)};
  for (const KeptValue& value : kept_values(layer_of(sc, kind, false), sizes_of(sc, dims)))
    append.bytes(name_of(value.tensor), TensorKind::Activation, value.bytes.value(), kInPasses);
}

void append_working_sets(const Scenario& sc, const LocalDims& dims, LayerClass kind, bool recomputed,
                         TensorLedger& out) {
  const Sizes sizes = sizes_of(sc, dims);
  const FoldedPhases phases = fold(layer_of(sc, kind, recomputed), sizes);
  // A layer begins with its input, which becomes the output; backward with the output's gradient.
  const double input = sizes.bytes(kHiddenStates);
  const PassBytes &forward = phases[0].highest(), &backward = phases[1].highest();
  RowAppender append{out, index_of(kind)};
  append.bytes("forward.working_set", TensorKind::Transient, input + forward.transient, kForward);
  append.bytes("backward.working_set", TensorKind::Transient, input + backward.transient, kBackward);
  append.bytes("backward.consumed", TensorKind::Activation, backward.activations, kBackward);
}

void append_head_working_sets(const Scenario& sc, const LocalDims& dims, TensorLedger& out) {
  const Sizes sizes = sizes_of(sc, dims);
  const FoldedPhases phases = fold(variant_of(sc, Part::Head, {}, techniques_of(sc, false)).program, sizes);
  const PassBytes loss = phases[0].highest(), backward = phases[0].net() + phases[1].highest();
  const double input = sizes.bytes(kHiddenStates);
  RowAppender append{out, -1};
  for (const auto& [instant, peak] : {std::pair{kLoss, loss}, {kHeadBackward, backward}}) {
    append.bytes("head.logits", TensorKind::Logits, peak.logits, instant);
    append.bytes("head.working_set", TensorKind::Transient, input + peak.transient, instant);
    append.bytes("head.input_gradient", TensorKind::Activation, peak.activations, instant);
  }
}

void append_head_gradient(const Scenario& sc, const LocalDims& dims, TensorLedger& out) {
  RowAppender{out, -1}.bytes("head.input_gradient", TensorKind::Activation,
                             sizes_of(sc, dims).bytes(kHiddenStates), kInPasses);
}

}  // namespace hexaplan::costmodel::program
