#include "cli/render/oracle_text.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "costmodel/units/format_units.h"
#include "presets/json/spec_names.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/recompute_text.h"
#include "report/oracle_lines.h"

namespace hexaplan::cli {
namespace {

using presets::ComparedNumber;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using presets::NamedTensor;
using report::OracleLine;
using report::OracleLineKind;

constexpr std::size_t kWidest = 76;  // cells of a tensor's name

std::string versions_text(const OracleReport& report) {
  std::string text;
  for (const auto& [package, version] : report.step.versions)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", package, version);
  return fmt::format("{} ({})", text, report.python);
}

std::string heading_of(const OracleReport& report, const TextStyle& style) {
  const costmodel::Scenario& sc = report.scenario;
  return fmt::format("{} {} {} {} {}, sequence {}, micro-batch {}, {}, {}, recompute {}\n{}\n\n",
                     style.bold(sc.model.name), style.dot(), report.request.framework, style.dot(),
                     presets::to_layout_text(sc.layout), costmodel::format_count(sc.recipe.sequence),
                     sc.recipe.micro_batch, presets::name_in(presets::kPrecisionNames, sc.recipe.precision),
                     report.weights, presets::to_recompute_text(sc.recipe.recompute), versions_text(report));
}

std::string shortened(const std::string& text) {
  return text.size() <= kWidest ? text : text.substr(0, kWidest - 3) + "...";
}

std::vector<std::string> cells_of(const OracleLine& line, const TextStyle& style) {
  const std::string indent(line.kind == OracleLineKind::Tensor ? 6 : 2, ' ');
  const std::string difference = line.differs ? style.warn(line.difference) : line.difference;
  if (line.kind == OracleLineKind::Head) return {style.bold(line.what), "", "", "", ""};
  return {indent + shortened(line.what), line.predicted, line.measured, difference, line.share};
}

std::string profile_text(const OracleReport& report) {
  if (!report.profile) return {};
  std::string text = "\n";
  for (const std::string& said : report.profile->said) text += fmt::format("corrected: {}\n", said);
  for (const std::string& left : report.profile->not_said)
    text += fmt::format("a profile's fields cannot say: {}\n", left);
  return text + (report.saved.empty()
                     ? std::string{"No profile was written: there is nothing that it could say.\n"}
                     : fmt::format("Saved: --framework {}\n", report.saved));
}

JsonValue tensors_json(const std::vector<NamedTensor>& tensors) {
  JsonArray rows;
  for (const NamedTensor& t : tensors) {
    rows.emplace_back(JsonObject{{"name", t.name},
                                 {"dtype", t.dtype},
                                 {"elements", t.elements},
                                 {"count", t.count},
                                 {"bytes", t.size.value()}});
  }
  return rows;
}

JsonValue number_json(const ComparedNumber& n) {
  JsonObject object{{"group", name_of(n.group)},
                    {"what", n.what},
                    {"predicted", n.predicted},
                    {"pytorch", n.measured},
                    {"difference", n.predicted - n.measured},
                    {"error", n.error()},
                    {"tolerance", n.tolerance},
                    {"equal", n.holds()}};
  if (n.layers == 0) return object;
  object.emplace_back("layer_class", n.layer_class);
  object.emplace_back("layers", n.layers);
  object.emplace_back("predicted_tensors", tensors_json(n.predictions));
  object.emplace_back("pytorch_tensors", tensors_json(n.measurements));
  return object;
}

JsonArray words_json(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

}  // namespace

std::string oracle_text(const OracleReport& report, const TextStyle& style) {
  std::vector<std::vector<std::string>> rows{{"", "predicted", "PyTorch", "difference", ""}};
  for (const OracleLine& line : report::oracle_lines(report.scenario, report.numbers))
    rows.push_back(cells_of(line, style));
  const std::string verdict = report::oracle_verdict(report.numbers);
  return heading_of(report, style) + format_table(rows) + "\n" +
         (report::all_hold(report.numbers) ? style.good(verdict) : style.warn(verdict)) + "\n" +
         profile_text(report);
}

JsonValue oracle_json(const OracleReport& report) {
  JsonObject versions;
  for (const auto& [package, version] : report.step.versions) versions.emplace_back(package, version);
  JsonArray numbers;
  for (const ComparedNumber& n : report.numbers) numbers.push_back(number_json(n));
  JsonObject object{{"schema", "hexaplan/oracle/1"},
                    {"scenario", to_json(report.request)},
                    {"python", report.python},
                    {"versions", std::move(versions)},
                    {"equal", report::all_hold(report.numbers)},
                    {"verdict", report::oracle_verdict(report.numbers)},
                    {"numbers", std::move(numbers)}};
  if (report.profile) {
    object.emplace_back("profile", JsonObject{{"file", report.saved},
                                              {"said", words_json(report.profile->said)},
                                              {"not_said", words_json(report.profile->not_said)}});
  }
  return object;
}

}  // namespace hexaplan::cli
