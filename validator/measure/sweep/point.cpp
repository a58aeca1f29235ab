#include "validator/measure/sweep/point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "validator/executor/communicator/traffic.h"

namespace hexaplan::validator {
namespace {

using costmodel::Bytes;
using costmodel::Flops;
using costmodel::Precision;

constexpr std::string_view kPointKindNames[kPointKinds] = {
    "gemm",   "grouped gemm", "sustained gemm", "attention forward", "attention backward", "memory-bound",
    "launch", "collective",   "overlap"};

struct StepRow {
  std::string_view name;
  double traffic;  // bytes per element
};
// Reads and writes of validator/executor/device/device.h's operations: bf16 activations 2 bytes, fp32
// states 4.
constexpr StepRow kSteps[kMemorySteps] = {
    {"copy", 2 + 2},
    {"add", 2 + 2 + 2},
    {"rms-norm", 2 + 2},
    {"rms-norm-backward", 2 + 2 + 2 + 2},            // dy, x; dx is added to
    {"swiglu", 4 + 2},                               // gate and up; act
    {"swiglu-backward", 2 + 4 + 4},                  // d_act, gate and up; their gradients
    {"rope", 2 + 2},                                 // in place
    {"squared-norm", 4},                             // of gradients
    {"adamw", 4 + (4 + 4) + (4 + 4) + (4 + 4) + 2},  // gradient; master and moments both ways; parameter
    {"loss-gradient", 2 + 2},                        // logits become their gradient
    {"embedding", 2 + 2},
    {"gather-rows", 2 + 2},
    {"cast", 4 + 2},
};

constexpr std::string_view kPassNames[] = {"forward", "data", "weight", "step"};

std::string gemm_name(const Point& p) {
  std::string name = fmt::format("{} {} {} {}x{}x{}", name_of(p.kind), name_of(p.precision),
                                 kPassNames[static_cast<std::size_t>(p.pass)], p.gemm.m, p.gemm.n, p.gemm.k);
  if (p.gemm.batch > 1) name += fmt::format(" batch {}", p.gemm.batch);
  if (p.gemm.accumulate_bytes > 0) name += fmt::format(" accumulate {}", p.gemm.accumulate_bytes);
  return name;
}

std::string attention_name(const Point& p) {
  const costmodel::AttentionShape& a = p.attention;
  return fmt::format("{} batch {} heads {}/{} queries {} keys {} dim {}/{} {}{}", name_of(p.kind), a.batch,
                     a.heads, a.kv_heads, a.seq_q, a.seq_kv, a.head_dim, a.v_head_dim,
                     a.causal ? "causal" : "full", a.window > 0 ? fmt::format(" window {}", a.window) : "");
}

std::string collective_name(const Point& p) {
  std::string group = fmt::format("{} ranks on {} host{}", p.ranks, p.nodes, p.nodes == 1 ? "" : "s");
  if (p.stride > 1) group += fmt::format(", {} apart", p.stride);
  if (p.groups > 1) group += fmt::format(", {} groups at once", p.groups);
  return fmt::format("{} {} {} {} B", name_of(p.kind), name_of(p.collective), group,
                     costmodel::whole(p.payload));
}

double element_bytes(Precision precision) {
  return costmodel::bytes_per_element(costmodel::activation_dtype(precision));
}

/// A and B; C is as activations are.
double operand_bytes(Precision precision) {
  return costmodel::is_quantized(precision) ? costmodel::bytes_per_element(costmodel::DType::Fp8)
                                            : element_bytes(precision);
}

double gemm_traffic(const Point& p) {
  const auto m = static_cast<double>(p.gemm.m), n = static_cast<double>(p.gemm.n);
  const auto k = static_cast<double>(p.gemm.k), batch = static_cast<double>(p.gemm.batch);
  const double c = p.gemm.accumulate_bytes > 0 ? p.gemm.accumulate_bytes : element_bytes(p.precision);
  return batch * (operand_bytes(p.precision) * (m * k + k * n) + c * m * n);
}

double attention_traffic(const Point& p) {
  const costmodel::AttentionShape& a = p.attention;
  const auto dims = static_cast<double>(a.head_dim + a.v_head_dim);
  const double rows = static_cast<double>(a.batch) *
                      (static_cast<double>(a.seq_q * a.heads) + static_cast<double>(a.seq_kv * a.kv_heads));
  return element_bytes(p.precision) * rows * dims * (p.kind == PointKind::AttentionBackward ? 2.5 : 1.0);
}

double quantile(std::vector<double> values, double share) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace

std::string_view name_of(PointKind kind) {
  return kPointKindNames[static_cast<std::size_t>(kind)];
}
std::string_view name_of(MemoryStep step) {
  return kSteps[static_cast<std::size_t>(step)].name;
}
double traffic_per_element(MemoryStep step) {
  return kSteps[static_cast<std::size_t>(step)].traffic;
}

std::string name_of(const Point& point) {
  switch (point.kind) {
    case PointKind::Gemm:
    case PointKind::GroupedGemm:
    case PointKind::SustainedGemm:
      return gemm_name(point);
    case PointKind::AttentionForward:
    case PointKind::AttentionBackward:
      return attention_name(point);
    case PointKind::MemoryBound:
      return fmt::format("{} {} {} elements", name_of(point.kind), name_of(point.step), point.elements);
    case PointKind::Launch:
      break;
    case PointKind::Collective:
      return collective_name(point);
    case PointKind::Overlap:
      return fmt::format("{} beside {}", gemm_name(point), collective_name(point));
  }
  return std::string{name_of(point.kind)};
}

Flops flops_of(const Point& point) {
  switch (point.kind) {
    case PointKind::AttentionForward:
    case PointKind::AttentionBackward: {
      const costmodel::AttentionShape& a = point.attention;
      const double forward =
          2 * a.pairs * static_cast<double>(a.heads * a.batch * (a.head_dim + a.v_head_dim));
      return Flops{point.kind == PointKind::AttentionForward ? forward : 2.5 * forward};
    }
    case PointKind::Gemm:
    case PointKind::GroupedGemm:
    case PointKind::SustainedGemm:
    case PointKind::Overlap:
      return point.gemm.flops();
    default:
      return {};
  }
}

Bytes traffic_of(const Point& point) {
  switch (point.kind) {
    case PointKind::MemoryBound:
      return Bytes{static_cast<double>(point.elements) * traffic_per_element(point.step)};
    case PointKind::AttentionForward:
    case PointKind::AttentionBackward:
      return Bytes{attention_traffic(point)};
    case PointKind::Launch:
      return {};
    case PointKind::Collective:
      return 2 * point.payload;
    default:
      return Bytes{gemm_traffic(point)};
  }
}

double Measurement::median() const {
  return quantile(seconds, 0.5);
}
double Measurement::spread() const {
  return 0.5 * (quantile(seconds, 0.75) - quantile(seconds, 0.25)) / median();
}

}  // namespace hexaplan::validator
