#include "presets/oracle/framework_step.h"

#include <algorithm>
#include <iterator>

namespace hexaplan::presets {
namespace {

using costmodel::Bytes;
using costmodel::Instant;

constexpr std::string_view kAnswerSchema = "hexaplan/oracle-answer/1";

struct TensorType {
  std::string_view name;
  double bytes;
};
/// NAMES of scripts/oracle/live_bytes.py.
constexpr TensorType kTensorTypes[] = {{"fp64", 8},  {"fp32", 4}, {"bf16", 2},  {"fp16", 2},     {"int64", 8},
                                       {"int32", 4}, {"bool", 1}, {"uint8", 1}, {"complex64", 8}};

/// Phases of scripts/oracle/live_bytes.py; the last backward ends where the optimizer begins.
constexpr Named<Instant> kPhases[] = {{"forward", costmodel::kForward},
                                      {"loss", costmodel::kLoss},
                                      {"head backward", costmodel::kHeadBackward},
                                      {"backward", costmodel::kBackward},
                                      {"end of backward", costmodel::kOptimizer},
                                      {"optimizer step", costmodel::kOptimizer},
                                      {"between steps", costmodel::kIdle}};

Bytes sum_of_types(ObjectReader types) {
  double sum = 0;
  for (const auto& [dtype, bytes] : types.members()) sum += static_cast<double>(bytes.integer(kCount));
  return Bytes{sum};
}

/// What the script says that this machine lacks.
InputError problem_of(const std::string& file, ObjectReader problem) {
  return InputError({.file = file,
                     .value = problem.required("what").text(),
                     .expected = problem.required("expected").text(),
                     .hint = problem.required("hint").text()});
}

}  // namespace

std::optional<double> bytes_of_torch_type(std::string_view dtype) {
  const auto found = std::ranges::find(kTensorTypes, dtype, &TensorType::name);
  return found == std::end(kTensorTypes) ? std::nullopt : std::optional{found->bytes};
}

Bytes KeptTensor::size() const {
  return Bytes{static_cast<double>(elements) * static_cast<double>(count) *
               bytes_of_torch_type(dtype).value_or(0)};
}

KeptTensor read_kept_tensor(ObjectReader row) {
  KeptTensor tensor;
  if (const auto layer = row.optional("layer"); layer && !layer->json().is_null())
    tensor.layer = layer->integer(kCount);
  tensor.module = row.required("module").text();
  tensor.operation = row.required("operation").text();
  const ValueReader dtype = row.required("dtype");
  if (!bytes_of_torch_type(dtype.text())) throw dtype.error("a type of PyTorch's tensors");
  tensor.dtype = dtype.text();
  tensor.elements = row.required("elements").integer(kCount);
  tensor.count = row.required("count").integer(kCount);
  row.finish();
  return tensor;
}

InstantPeaks read_instant_peaks(ObjectReader phases) {
  InstantPeaks peaks;
  for (const Named<Instant>& phase : kPhases) {
    const auto value = phases.optional(phase.name);
    if (!value) continue;
    const Bytes bytes{static_cast<double>(value->integer(kCount))};
    auto& peak = peaks[costmodel::index_of(phase.value)];
    peak = std::max(peak.value_or(Bytes{}), bytes);
  }
  phases.finish();
  return peaks;
}

SentMessages read_messages(ObjectReader row) {
  SentMessages messages{.phase = row.required("phase").text(),
                        .kind = row.required("kind").text(),
                        .group = row.required("group").integer(kCount),
                        .dtype = row.required("dtype").text(),
                        .bytes = row.required("bytes").integer(kCount)};
  if (const ValueReader calls = row.required("calls"); !calls.json().is_null())
    messages.calls = calls.integer(kCount);
  row.finish();
  return messages;
}

FrameworkStep read_framework_step(const JsonDocument& document) {
  ObjectReader reader{document};
  const ValueReader schema = reader.required("schema");
  if (schema.text() != kAnswerSchema) throw schema.error(in_quotes(kAnswerSchema));
  if (const auto problem = reader.optional("problem")) throw problem_of(document.file, problem->object());
  FrameworkStep step;
  ObjectReader versions = reader.required("versions").object();
  for (const auto& [package, version] : versions.members())
    step.versions.emplace_back(package, version.text());
  step.parameters = reader.required("parameters").integer(kCount);
  step.trained_parameters = reader.required("trained_parameters").integer(kCount);
  ObjectReader states = reader.required("states").object();
  step.parameter_bytes = sum_of_types(states.required("parameters").object());
  step.gradient_bytes = sum_of_types(states.required("gradients").object());
  step.optimizer_bytes = sum_of_types(states.required("optimizer").object());
  states.finish();
  for (const ValueReader& row : reader.required("kept").elements())
    step.kept.push_back(read_kept_tensor(row.object()));
  step.peaks = read_instant_peaks(reader.required("peaks").object());
  for (const ValueReader& row : reader.required("collectives").elements())
    step.messages.push_back(read_messages(row.object()));
  if (const ValueReader flops = reader.required("flops"); !flops.json().is_null())
    step.flops = costmodel::Flops{flops.number(kNotNegative)};
  reader.finish();
  return step;
}

}  // namespace hexaplan::presets
