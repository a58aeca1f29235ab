#include "validator/executor/device/device.h"

#include <array>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <new>
#include <vector>

namespace hexaplan::validator {
namespace {

double gemm_flops(const Gemm& g) {
  const std::int64_t k = g.transpose_a ? g.a.rows : g.a.cols;
  assert(k == (g.transpose_b ? g.b.cols : g.b.rows));
  assert(g.c.rows == (g.transpose_a ? g.a.cols : g.a.rows));
  assert(g.c.cols == (g.transpose_b ? g.b.rows : g.b.cols));
  return 2.0 * static_cast<double>(g.c.rows) * static_cast<double>(g.c.cols) * static_cast<double>(k);
}

/// Every row of the token matrices meets one group's matrix. [docs/formulas.md#T1]
double grouped_gemm_flops(const Gemm& g, std::span<const std::int64_t> offsets) {
  const auto groups = static_cast<std::int64_t>(offsets.size()) - 1;
  const auto tokens = static_cast<double>(offsets.back() - offsets.front());
  const std::int64_t other = g.transpose_a ? g.c.rows / groups : g.a.cols;
  return 2.0 * tokens * static_cast<double>(other) * static_cast<double>(g.c.cols);
}

/// [docs/formulas.md#T2]
double attention_flops(const AttentionBlock& b) {
  return 2.0 * b.pairs * static_cast<double>(b.heads * b.batch) *
         static_cast<double>(b.head_dim + b.v_head_dim);
}

}  // namespace

Element stored_element(costmodel::DType dtype, Element wide, Element narrow) {
  switch (dtype) {
    case costmodel::DType::Int64:
    case costmodel::DType::Int32:
    case costmodel::DType::Bool:
      return Element::I32;
    case costmodel::DType::Int8:
      return Element::U8;
    case costmodel::DType::Fp64:
    case costmodel::DType::Fp32:
      return wide;
    default:
      return narrow;
  }
}

Tensor Device::allocate(const TensorLabel& label, std::int64_t rows, std::int64_t cols) {
  const LabelledColumns part{label, cols};
  return allocate(std::span{&part, 1}, rows);
}

Tensor Device::allocate(std::span<const LabelledColumns> parts, std::int64_t rows) {
  std::int64_t cols = 0;
  for (const LabelledColumns& part : parts) cols += part.cols;
  const Element element = element_of(parts.front().label.dtype);
  View view{nullptr, element, rows, cols, cols};
  std::size_t counted = 0;
  try {
    for (; counted < parts.size(); ++counted)
      memory_.allocated(parts[counted].label, rows * parts[counted].cols);
    view.data = take(view.bytes());
  } catch (const std::bad_alloc&) {
    forget(parts.first(counted), rows);
    const std::int64_t live = memory_.live_bytes();
    throw OutOfMemory{parts.front().label, static_cast<std::int64_t>(view.bytes()), live,
                      live + free_bytes()};
  } catch (...) {
    forget(parts.first(counted), rows);
    throw;
  }
  return {*this, view, {parts.begin(), parts.end()}};
}

void Device::forget(std::span<const LabelledColumns> parts, std::int64_t rows) {
  for (const LabelledColumns& part : parts) memory_.released(part.label, rows * part.cols);
}

std::string_view name_of(ComputeKind kind) {
  constexpr std::array<std::string_view, kComputeKinds> kNames = {
      "matrix products",  "grouped matrix products",
      "attention",        "norms",
      "rotary embedding", "activations",
      "embedding",        "loss",
      "routing",          "elementwise",
      "optimizer",        "gradient norm",
      "copies and fills", "messages"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Tensor Device::allocate_message(Element element, std::int64_t elements) {
  View view{nullptr, element, 1, elements, elements};
  view.data = take(view.bytes());
  return {*this, view, {}};
}

template <class Run>
void Device::account(ComputeKind kind, const IssuedFlops& issue, double flops, const Run& run) {
  flops_[issue] += flops;
  timed(kind, issue, flops, run);
}

void Device::settle_times() {
  synchronize();
  for (const Timed& call : timed_) {
    const costmodel::Seconds time = between(call.begin, call.end);
    ComputeTime& sum = compute_times_[static_cast<std::size_t>(call.kind)];
    ++sum.calls;
    sum.time += time;
    if (call.issue.operation.empty()) continue;
    times_[call.issue].flops += call.flops;
    times_[call.issue].time += time;
  }
  timed_.clear();
  release_marks();
}

void Device::reset_flops() {
  flops_.clear();
  times_.clear();
  compute_times_ = {};
  timed_.clear();
  release_marks();
}

TimeMark Device::mark(Stream /*stream*/) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count())};
}

costmodel::Seconds Device::between(TimeMark begin, TimeMark end) const {
  return costmodel::Seconds{static_cast<double>(end.id - begin.id) * 1e-9};
}

void Device::gemm(const IssuedFlops& issue, const Gemm& g) {
  account(ComputeKind::Gemm, issue, gemm_flops(g), [&] { run_gemm(g); });
}

void Device::grouped_gemm(const IssuedFlops& issue, const Gemm& g, std::span<const std::int64_t> offsets) {
  assert(offsets.size() >= 2);
  account(ComputeKind::GroupedGemm, issue, grouped_gemm_flops(g, offsets),
          [&] { run_grouped_gemm(g, offsets); });
}

void Device::attention_forward(const IssuedFlops& issue, const AttentionBlock& block, const View& q,
                               const View& k, const View& v, const View& o, const View& lse) {
  account(ComputeKind::Attention, issue, attention_flops(block),
          [&] { run_attention_forward(block, q, k, v, o, lse); });
}

void Device::attention_backward(const IssuedFlops& issue, const AttentionBlock& block, const View& q,
                                const View& k, const View& v, const View& d_o, const View& lse,
                                const View& delta, const View& dq, const View& dk, const View& dv) {
  account(ComputeKind::Attention, issue, 2.5 * attention_flops(block),
          [&] { run_attention_backward(block, q, k, v, d_o, lse, delta, dq, dk, dv); });
}

}  // namespace hexaplan::validator
