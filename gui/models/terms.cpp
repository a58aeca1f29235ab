#include "gui/models/terms.h"

#include <QCoreApplication>
#include <array>

#include "costmodel/memory/memory_kinds.h"
#include "costmodel/step/time_causes.h"

namespace hexaplan::gui {
namespace {

using costmodel::StepTime;
using costmodel::TensorKind;

constexpr const char* kTermsContext = "Terms";

constexpr std::array<MemoryTerm, costmodel::kTensorKinds> kMemoryTerms{{
    {TensorKind::Parameter, QT_TRANSLATE_NOOP("Terms", "parameters"),
     QT_TRANSLATE_NOOP("Terms", "The weights that the passes compute with."), "M1"},
    {TensorKind::Gradient, QT_TRANSLATE_NOOP("Terms", "gradients"),
     QT_TRANSLATE_NOOP("Terms",
                       "One gradient for every trained weight, in the type in which they are summed."),
     "M1"},
    {TensorKind::OptimizerState, QT_TRANSLATE_NOOP("Terms", "optimizer states"),
     QT_TRANSLATE_NOOP("Terms", "Master weights and the optimizer's moments."), "M1"},
    {TensorKind::Activation, QT_TRANSLATE_NOOP("Terms", "activations"),
     QT_TRANSLATE_NOOP("Terms", "What forward keeps for backward, for every micro-batch in flight."), "M2"},
    {TensorKind::Logits, QT_TRANSLATE_NOOP("Terms", "logits"),
     QT_TRANSLATE_NOOP("Terms", "Scores over the vocabulary and their loss, on the last stage."), "M5"},
    {TensorKind::Transient, QT_TRANSLATE_NOOP("Terms", "transient"),
     QT_TRANSLATE_NOOP("Terms", "Tensors that live only while one layer runs."), "M4"},
    {TensorKind::Communication, QT_TRANSLATE_NOOP("Terms", "communication"),
     QT_TRANSLATE_NOOP("Terms", "Buffers of the communicators, outside the framework's allocator."), "M6"},
    {TensorKind::Overhead, QT_TRANSLATE_NOOP("Terms", "overhead"),
     QT_TRANSLATE_NOOP("Terms", "Device context and libraries."), "M6"},
    {TensorKind::Cached, QT_TRANSLATE_NOOP("Terms", "cached"),
     QT_TRANSLATE_NOOP(
         "Terms",
         "Reserved by the caching allocator, not allocated: what freed tensors left and none takes."),
     "M7"},
}};

constexpr std::array<TimeTerm, costmodel::kTimeCauses.size()> kTimeTerms{{
    {&StepTime::gemm, QT_TRANSLATE_NOOP("Terms", "matrix products"),
     QT_TRANSLATE_NOOP("Terms", "Projections, MLP and output layer on the tensor cores."), "T1"},
    {&StepTime::attention, QT_TRANSLATE_NOOP("Terms", "attention"),
     QT_TRANSLATE_NOOP("Terms", "Scores, softmax and weighted values."), "T2"},
    {&StepTime::memory_bound, QT_TRANSLATE_NOOP("Terms", "memory-bound kernels"),
     QT_TRANSLATE_NOOP("Terms", "Norms, activations, residuals: as fast as memory is."), "T3"},
    {&StepTime::recompute, QT_TRANSLATE_NOOP("Terms", "recomputation"),
     QT_TRANSLATE_NOOP("Terms", "Forward run again during backward, to save activations."), "T6"},
    {&StepTime::launch, QT_TRANSLATE_NOOP("Terms", "kernel launches"),
     QT_TRANSLATE_NOOP("Terms", "Gaps between kernels."), "T4"},
    {&StepTime::tensor_parallel, QT_TRANSLATE_NOOP("Terms", "tensor-parallel comm"),
     QT_TRANSLATE_NOOP("Terms", "Exposed communication inside layers cut over tensor-parallel ranks."), "C2"},
    {&StepTime::context_parallel, QT_TRANSLATE_NOOP("Terms", "context-parallel comm"),
     QT_TRANSLATE_NOOP("Terms", "Exposed exchange of keys and values between parts of a sequence."), "C7"},
    {&StepTime::expert_parallel, QT_TRANSLATE_NOOP("Terms", "expert-parallel comm"),
     QT_TRANSLATE_NOOP("Terms", "Exposed exchange of tokens between experts."), "C4"},
    {&StepTime::pipeline_p2p, QT_TRANSLATE_NOOP("Terms", "pipeline messages"),
     QT_TRANSLATE_NOOP("Terms",
                       "Activations and gradients sent between stages, as far as they are waited for."),
     "S4"},
    {&StepTime::bubble, QT_TRANSLATE_NOOP("Terms", "pipeline bubble"),
     QT_TRANSLATE_NOOP("Terms", "Waiting for other stages while the pipeline fills and drains."), "S3"},
    {&StepTime::data_parallel, QT_TRANSLATE_NOOP("Terms", "data-parallel comm"),
     QT_TRANSLATE_NOOP("Terms", "Exposed reduction of gradients and gathering of parameters."), "C8"},
    {&StepTime::offload, QT_TRANSLATE_NOOP("Terms", "copies to and from the host"),
     QT_TRANSLATE_NOOP("Terms", "Offloaded tensors on their way, as far as nothing hides it."), "T11"},
    {&StepTime::optimizer, QT_TRANSLATE_NOOP("Terms", "optimizer"),
     QT_TRANSLATE_NOOP("Terms", "Gradient norm and update of the weights."), "T7"},
    {&StepTime::host, QT_TRANSLATE_NOOP("Terms", "host"),
     QT_TRANSLATE_NOOP("Terms",
                       "The device waits for the program: data loading, bookkeeping, synchronisation."),
     "T8"},
}};

/// lupdate reads literals: that they are the cost model's names is checked here.
constexpr bool namedAsTheCostModelDoes() {
  for (std::size_t i = 0; i < kMemoryTerms.size(); ++i) {
    const costmodel::MemoryKind& kind = costmodel::kMemoryKinds[i];
    if (kMemoryTerms[i].kind != kind.kind || kMemoryTerms[i].label != kind.name) return false;
  }
  for (std::size_t i = 0; i < kTimeTerms.size(); ++i) {
    const costmodel::TimeCause& cause = costmodel::kTimeCauses[i];
    if (kTimeTerms[i].member != cause.member || kTimeTerms[i].label != cause.name) return false;
  }
  return true;
}
static_assert(namedAsTheCostModelDoes(), "costmodel/memory/memory_kinds.h, costmodel/step/time_causes.h");

QString translated(const char* text) {
  return QCoreApplication::translate(kTermsContext, text);
}

QString sentence(const char* meaning, const char* formula) {
  return QCoreApplication::translate(kTermsContext, "%1 Formula %2.")
      .arg(translated(meaning), QString::fromLatin1(formula));
}

}  // namespace

std::span<const MemoryTerm> memoryTerms() {
  return kMemoryTerms;
}
std::span<const TimeTerm> timeTerms() {
  return kTimeTerms;
}
QString labelOf(TensorKind kind) {
  return translated(kMemoryTerms[static_cast<std::size_t>(kind)].label);
}
QString labelOf(const TimeTerm& term) {
  return translated(term.label);
}
QString labelOfName(const std::string& name) {
  return translated(name.c_str());
}
QString explain(const MemoryTerm& term) {
  return sentence(term.meaning, term.formula);
}
QString explain(const TimeTerm& term) {
  return sentence(term.meaning, term.formula);
}

}  // namespace hexaplan::gui
