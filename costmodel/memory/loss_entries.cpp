#include <algorithm>
#include <cmath>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/units/ceil_div.h"

namespace hexaplan::costmodel {
namespace {

/// Chunks that a chunked loss is cut into: the framework's number, or Liger's rule, which keeps a chunk's
/// logits about as large as the hidden states.
double asked_chunks(const Scenario& sc, const LocalDims& d) {
  if (sc.framework.loss_chunks > 0) return sc.framework.loss_chunks;
  return std::exp2(
      std::ceil(std::log2(std::max(1.0, static_cast<double>(d.vocab) / static_cast<double>(d.hidden)))));
}

/// Share of the logits that the loss works on at once.
double alive_share(const Scenario& sc, const LocalDims& d) {
  const double always = sc.framework.chunked_cross_entropy_fraction;
  if (sc.recipe.cross_entropy == CrossEntropy::Chunked) return always > 0 ? always : 1 / asked_chunks(sc, d);
  return sc.recipe.cross_entropy == CrossEntropy::Default && always > 0 ? always : 1.0;
}

}  // namespace

double made_of_chunks(const Scenario& sc) {
  return 1 / alive_share(sc, local_dims(sc));
}

LossChunks loss_chunks(const Scenario& sc, const LocalDims& d) {
  const auto asked = static_cast<std::int64_t>(std::ceil(1 / alive_share(sc, d)));
  const std::int64_t rows = ceil_div(d.tokens, asked);
  return {ceil_div(d.tokens, rows), rows};
}

void append_loss_entries(const Scenario& sc, const LocalDims& d, TensorLedger& out) {
  const DType compute = activation_dtype(sc.recipe.precision);
  const double columns = static_cast<double>(d.vocab) * (gathers_logits(sc) ? sc.layout.tp : 1);
  const double all_logits = static_cast<double>(d.tokens) * columns;
  const double logits = all_logits * alive_share(sc, d);
  const bool complete =
      sc.recipe.cross_entropy == CrossEntropy::Chunked && sc.framework.chunked_logits_complete;
  const FrameworkProfile& f = sc.framework;
  const bool fused = fuses_cross_entropy(sc);
  // Every loss is made before any of them runs backward.
  const double losses = 1.0 + mtp_modules(sc);
  const auto add = [&](std::string_view name, DType dtype, double elements, double copies, std::uint8_t alive,
                       TensorKind kind) {
    if (elements * copies > 0) {
      out.push_back({.name = name,
                     .formula = "M5",
                     .kind = kind,
                     .dtype = dtype,
                     .alive = alive,
                     .elements = elements,
                     .count = kind == TensorKind::Logits ? copies * losses : copies});
    }
  };
  const auto stream = static_cast<double>(d.sp_tokens * d.hidden);
  // Frozen, the final norm and the output matrix keep nothing for gradients of their own; of an output matrix
  // that trains behind a frozen norm it is its operand.
  const double streams = !trains_adapters(sc.recipe) ? f.head_streams : trains_head(sc.recipe) ? 1 : 0;
  add("head.streams", compute, stream, streams, kLoss | kHeadBackward, TensorKind::Logits);
  add("head.logits", compute, complete ? all_logits : logits, fused ? 1 : f.logit_copies_compute, kLoss,
      TensorKind::Logits);
  add("loss.logits_fp32", DType::Fp32, logits, fused ? f.fused_logit_copies_fp32 : f.logit_copies_fp32, kLoss,
      TensorKind::Logits);
  // A loss over cut logits writes its gradient in place (DTensor's loss_parallel): what stands beside it is
  // the gradient of the 16-bit logits.
  const bool in_place = sc.layout.tp > 1 && !gathers_logits(sc) && f.logit_copies_compute == 0;
  add("loss.softmax_and_gradient", in_place ? compute : DType::Fp32, logits,
      fused ? 0 : f.logit_transient_fp32, kLoss, TensorKind::Logits);
  add("head.logits_gradient", compute, complete ? all_logits : logits, 1, kHeadBackward, TensorKind::Logits);
  add("head.weight_gradient", DType::Int8,
      !trains_head(sc.recipe) ? 0
                              : static_cast<double>(d.vocab * d.hidden) * f.weight_gradient_temporary_bytes,
      1, kHeadBackward, TensorKind::Transient);
  const double gathered = sc.layout.sp ? f.sp_gather_buffers * static_cast<double>(d.tokens * d.hidden) : 0.0;
  add("head.gathered_input", compute, gathered, 1, kLoss | kHeadBackward, TensorKind::Transient);
}

void append_waiting_loss_entries(const Scenario& sc, const LocalDims& d, TensorLedger& out) {
  constexpr std::uint8_t kPasses = kForward | kLoss | kHeadBackward | kBackward;
  const DType compute = activation_dtype(sc.recipe.precision);
  const auto hidden = static_cast<double>(d.sp_tokens * d.hidden);
  if (alive_share(sc, d) < 1) {
    out.push_back({.name = "head.waiting_gradient",
                   .formula = "M5",
                   .kind = TensorKind::Logits,
                   .dtype = compute,
                   .alive = kPasses,
                   .elements = hidden});
    return;
  }
  TensorLedger loss;
  append_loss_entries(sc, d, loss);
  for (TensorEntry& entry : loss) {
    const bool kept = entry.kind == TensorKind::Logits && (entry.alive & kLoss) != 0 &&
                      entry.name != "loss.softmax_and_gradient";
    if (!kept) continue;
    entry.alive = kPasses;
    out.push_back(entry);
  }
}

}  // namespace hexaplan::costmodel
