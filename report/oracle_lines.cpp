#include "report/oracle_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "costmodel/units/format_units.h"

namespace hexaplan::report {
namespace {

using costmodel::Bytes;
using presets::ComparedGroup;
using presets::ComparedNumber;
using presets::ComparedNumbers;
using presets::NamedTensor;

bool counts(ComparedGroup group) {
  return group == ComparedGroup::Parameters || group == ComparedGroup::TrainedParameters ||
         group == ComparedGroup::Calls;
}

std::string amount(ComparedGroup group, double value) {
  if (counts(group)) return costmodel::format_count(std::llround(value));
  if (group == ComparedGroup::Flops) return costmodel::format_flops(costmodel::Flops{value});
  return costmodel::format_binary(Bytes{value});
}

/// Sums of averages over layers are off by less than one.
double difference(const ComparedNumber& n) {
  const double exact = n.predicted - n.measured;
  return std::abs(exact) < 1 ? 0 : exact;
}

std::string signed_amount(ComparedGroup group, double value) {
  if (value == 0) return "0";
  return (value > 0 ? "+" : "-") + amount(group, std::abs(value));
}

/// What a total is called.
std::string title_of(const ComparedNumber& n) {
  switch (n.group) {
    case ComparedGroup::Parameters:
      return "parameters of the model";
    case ComparedGroup::TrainedParameters:
      return "trained parameters of the rank";
    case ComparedGroup::Flops:
      return "FLOPs, attention in full";
    case ComparedGroup::States:
      return n.what == "optimizer" ? "optimizer states" : n.what;
    case ComparedGroup::Peak:
      return n.what.empty() ? "most that is alive" : n.what;
    case ComparedGroup::Kept:
      return n.what.empty() ? "kept for backward, all layers" : n.what;
    case ComparedGroup::Calls:
      return n.what + ": calls";
    case ComparedGroup::CallBytes:
      return n.what + ": bytes";
  }
  return n.what;
}

OracleLine line_of(const ComparedNumber& n) {
  OracleLine line{.differs = !n.holds(),
                  .what = title_of(n),
                  .predicted = amount(n.group, n.predicted),
                  .measured = amount(n.group, n.measured),
                  .difference = signed_amount(n.group, difference(n)),
                  .share = {}};
  if (difference(n) != 0 && n.measured != 0)
    line.share = costmodel::format_signed_percent(difference(n) / n.measured);
  return line;
}

OracleLine head(std::string what) {
  return {.kind = OracleLineKind::Head,
          .what = std::move(what),
          .predicted = {},
          .measured = {},
          .difference = {},
          .share = {}};
}

std::string name_of(const NamedTensor& t) {
  const std::string elements = costmodel::format_short(t.elements);
  const std::string count = t.count == 1 ? std::string{} : fmt::format(" x {:.4g}", t.count);
  return fmt::format("{}, {} {}{}", t.name, elements, t.dtype, count);
}

OracleLine tensor_line(const NamedTensor& t, bool predicted) {
  const std::string size = costmodel::format_binary(t.size);
  return {.kind = OracleLineKind::Tensor,
          .what = name_of(t),
          .predicted = predicted ? size : std::string{},
          .measured = predicted ? std::string{} : size,
          .difference = {},
          .share = {}};
}

bool same_size(const NamedTensor& a, const NamedTensor& b) {
  return std::abs(a.size.value() - b.size.value()) < 1;
}

/// Tensors of a part that differs, less those that stand on both sides.
void append_tensors(const ComparedNumber& n, std::vector<OracleLine>& lines) {
  std::vector<NamedTensor> theirs = n.measurements;
  for (const NamedTensor& ours : n.predictions) {
    const auto match =
        std::ranges::find_if(theirs, [&](const NamedTensor& other) { return same_size(ours, other); });
    if (match == theirs.end()) {
      lines.push_back(tensor_line(ours, true));
    } else {
      theirs.erase(match);
    }
  }
  for (const NamedTensor& other : theirs) lines.push_back(tensor_line(other, false));
}

bool is_total(const ComparedNumber& n) {
  const bool by_part = n.group == ComparedGroup::Peak || n.group == ComparedGroup::Kept;
  return n.group < ComparedGroup::Peak || (by_part && n.what.empty());
}

using Chosen = std::vector<const ComparedNumber*>;
Chosen chosen(const ComparedNumbers& numbers, const std::function<bool(const ComparedNumber&)>& wanted) {
  Chosen out;
  for (const ComparedNumber& n : numbers) {
    if (wanted(n)) out.push_back(&n);
  }
  return out;
}
void sort_by_difference(Chosen& numbers) {
  std::ranges::stable_sort(numbers, std::greater{},
                           [](const ComparedNumber* n) { return std::abs(difference(*n)); });
}

void append_section(std::string title, Chosen numbers, std::vector<OracleLine>& lines) {
  if (numbers.empty()) return;
  lines.push_back(head(std::move(title)));
  sort_by_difference(numbers);
  for (const ComparedNumber* n : numbers) {
    lines.push_back(line_of(*n));
    if (!n->holds()) append_tensors(*n, lines);
  }
}

/// What to call a number outside of its section.
std::string full_name(const ComparedNumber& n) {
  if (n.group == ComparedGroup::Peak && !n.what.empty()) return "the peak at " + n.what;
  if (n.group == ComparedGroup::Kept && !n.what.empty()) return n.what + " of a layer";
  return title_of(n);
}

}  // namespace

std::string layers_text(const costmodel::Scenario& sc, const ComparedNumber& n) {
  const costmodel::LayerClass layer = costmodel::layer_class_at(sc.model, n.layer_class);
  return fmt::format("layer{}{}{} x {}", layer.moe ? " with experts" : "",
                     layer.windowed ? " with a window" : "", layer.recurrent ? " with a state" : "",
                     n.layers);
}

std::vector<OracleLine> oracle_lines(const costmodel::Scenario& sc, const ComparedNumbers& numbers) {
  std::vector<OracleLine> lines;
  append_section("One step on rank 0", chosen(numbers, is_total), lines);
  append_section(
      "Live tensors at their peak during",
      chosen(numbers,
             [](const ComparedNumber& n) { return n.group == ComparedGroup::Peak && !n.what.empty(); }),
      lines);
  for (int c = 0; c < costmodel::kLayerClasses; ++c) {
    const Chosen rows = chosen(numbers, [&](const ComparedNumber& n) {
      return n.group == ComparedGroup::Kept && !n.what.empty() && n.layer_class == c;
    });
    if (!rows.empty())
      append_section("Kept for backward by one " + layers_text(sc, *rows.front()), rows, lines);
  }
  append_section("Collectives",
                 chosen(numbers, [](const ComparedNumber& n) { return n.group >= ComparedGroup::Calls; }),
                 lines);
  return lines;
}

bool all_hold(const ComparedNumbers& numbers) {
  return std::ranges::all_of(numbers, &ComparedNumber::holds);
}

std::string oracle_verdict(const ComparedNumbers& numbers) {
  Chosen differing = chosen(numbers, [](const ComparedNumber& n) { return !n.holds(); });
  if (differing.empty())
    return fmt::format("PyTorch does what is predicted: all {} numbers agree.", numbers.size());
  // Of bytes, if there are any: numbers of calls and FLOPs cannot be set against them.
  Chosen bytes = differing;
  std::erase_if(bytes,
                [](const ComparedNumber* n) { return counts(n->group) || n->group == ComparedGroup::Flops; });
  Chosen& shown = bytes.empty() ? differing : bytes;
  sort_by_difference(shown);
  const ComparedNumber& most = *shown.front();
  const std::string share =
      most.measured == 0
          ? std::string{}
          : fmt::format(" ({})", costmodel::format_signed_percent(difference(most) / most.measured));
  return fmt::format("{} of {} numbers differ; furthest off is {}: {} predicted, {} in PyTorch{}.",
                     differing.size(), numbers.size(), full_name(most), amount(most.group, most.predicted),
                     amount(most.group, most.measured), share);
}

}  // namespace hexaplan::report
