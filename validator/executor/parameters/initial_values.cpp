#include "validator/executor/parameters/initial_values.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

#include "costmodel/parameters/adapters.h"

namespace hexaplan::validator {
namespace {

constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

double unit_interval(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

bool ends_on_the_residual_stream(std::string_view name) {
  return name == "attention.output.weight" || name.ends_with("down.weight");
}

/// Every element as if a rank had all of the tensor.
double initial_value_of(const InitialDistribution& of, std::uint64_t seed, std::uint64_t stream,
                        std::int64_t global) {
  const auto counter = static_cast<std::uint64_t>(global);
  if (of.uniform)
    return std::sqrt(3.0) * of.deviation * (2 * unit_interval(counter_random(seed, stream, counter)) - 1);
  return of.deviation == 0 ? of.mean : of.deviation * counter_normal(seed, stream, counter);
}

/// What DoRA begins with: lengths of the rows of the frozen matrix, to which B adds nothing yet
/// (arXiv:2402.09353 §4.1).
double length_of_row(const costmodel::MeasuredRows& rows, int unit, const costmodel::ModelSpec& model,
                     std::uint64_t seed, std::int64_t row) {
  const InitialDistribution of = initial_distribution({.name = rows.matrix}, model, false);
  const std::uint64_t stream = stream_of(rows.matrix, unit);
  double sum = 0;
  for (std::int64_t c = 0; c < rows.cols; ++c) {
    const double value = initial_value_of(of, seed, stream, (rows.first + row) * rows.cols + c);
    sum += value * value;
  }
  return std::sqrt(sum);
}

}  // namespace

std::uint64_t stream_of(std::string_view name, int unit) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash + static_cast<std::uint64_t>(unit + 8) * kGoldenGamma;
}

std::uint64_t counter_random(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  return mix(mix(mix(seed + kGoldenGamma) ^ stream) + (counter + 1) * kGoldenGamma);
}

double counter_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  const double a = unit_interval(counter_random(seed, stream, 2 * counter));
  const double b = unit_interval(counter_random(seed, stream, 2 * counter + 1));
  return std::sqrt(-2 * std::log(a)) * std::cos(2 * std::numbers::pi * b);
}

InitialDistribution initial_distribution(const LocalTensor& t, const costmodel::ModelSpec& model,
                                         bool begun) {
  constexpr double kDeviation = 0.02;
  if (t.name.ends_with("bias") || (t.name.ends_with("lora_b") && !begun)) return {};
  if (t.name.ends_with("ia3")) return {.mean = 1};
  if (t.name.ends_with("lora_a"))
    return {.deviation = 1 / std::sqrt(3.0 * static_cast<double>(t.global_cols)), .uniform = true};
  if (t.name.find("norm") != std::string_view::npos) return {.mean = model.zero_centered_norm ? 0.0 : 1.0};
  const bool last = ends_on_the_residual_stream(t.name);
  return {.deviation = last ? kDeviation / std::sqrt(2.0 * static_cast<double>(model.layers)) : kDeviation};
}

void initial_values(const LocalTensor& t, int unit, const costmodel::ModelSpec& model, std::uint64_t seed,
                    std::int64_t first, std::span<double> out, bool begun) {
  std::fill(out.begin(), out.end(), 0.0);
  // The copy that the last stage keeps of a tied embedding is the embedding.
  const bool copy = unit == UnitPlan::kTiedCopy;
  const std::uint64_t stream =
      copy ? stream_of("embedding.word.weight", UnitPlan::kEmbedding) : stream_of(t.name, unit);
  const InitialDistribution of = initial_distribution(t, model, begun);
  costmodel::MeasuredRows measured;
  if (t.adapter)
    measured = measured_rows(model, costmodel::class_of_layer(model, unit), t.name).value_or(measured);
  const auto value_at = [&](std::int64_t global) {
    return measured.cols > 0 ? length_of_row(measured, unit, model, seed, global)
                             : initial_value_of(of, seed, stream, global);
  };
  const std::int64_t end = first + std::ssize(out);
  for (const RowSegment& s : t.segments) {
    const std::int64_t begin = std::max(first, s.local * t.cols);
    const std::int64_t behind = std::min(end, (s.local + s.count) * t.cols);
    for (std::int64_t at = begin; at < behind; ++at) {
      const std::int64_t row = at / t.cols - s.local + s.global, col = at % t.cols;
      out[static_cast<std::size_t>(at - first)] = value_at(row * t.global_cols + t.first_col + col);
    }
  }
}

}  // namespace hexaplan::validator
