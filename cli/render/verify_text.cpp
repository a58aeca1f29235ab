#include "cli/render/verify_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "cli/render/estimate_rows.h"
#include "cli/render/numbers.h"
#include "presets/scenario/scenario_words.h"

namespace hexaplan::cli {
namespace {

using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using validator::Mismatch;
using validator::Verification;

constexpr std::size_t kMostListed = 40;

std::string place(const Mismatch& m) {
  return m.rank < 0 ? std::string{"all ranks"} : fmt::format("rank {}", m.rank);
}

/// Rounding may have made it differ from one rank, or a quantiser as well.
bool is_quantised(const Verification& v) {
  return validator::same_numbers(v.scenario).norm > validator::kSameNumbers;
}

std::string distances(const Verification& v) {
  const validator::SameNumbers bound = validator::same_numbers(v.scenario);
  if (!is_quantised(v)) {
    return fmt::format("loss {:.1e}, gradient norm {:.1e}, parameters {:.1e} (relative; bound {:.0e})",
                       v.loss_error, v.norm_error, v.parameter_error, validator::kSameNumbers);
  }
  return fmt::format(
      "loss {:.1e} (bound {:.0e}), gradient norm {:.1e} (bound {:.0e}) of the first step: gradients are "
      "quantised",
      v.loss_error, bound.loss, v.norm_error, bound.norm);
}

/// The largest distances from one rank of layouts whose gradients are, or are not, quantised.
double largest_distance(const VerifyReport& report, bool quantised) {
  double worst = 0;
  for (const Verification& v : report.layouts) {
    if (is_quantised(v) == quantised)
      worst = std::max({worst, v.loss_error, v.norm_error, v.parameter_error});
  }
  return worst;
}

std::string one_layout(const Verification& v, const TextStyle& style) {
  std::string text =
      fmt::format("{} on {} rank{}: loss {:.6f}\n", style.bold(presets::to_command_words(v.scenario)),
                  v.ranks, v.ranks == 1 ? "" : "s", v.loss);
  text += fmt::format("  allocated by the fullest rank  {} predicted, {} executed\n",
                      costmodel::format_binary(v.predicted_memory.total()),
                      costmodel::format_binary(costmodel::Bytes{static_cast<double>(v.most_bytes)}));
  text += fmt::format("  communicated by all ranks      {} messages, {}\n", v.messages,
                      costmodel::format_binary(v.communicated));
  text += fmt::format("  computed by all ranks          {:.6g} FLOP in matrices and attention\n",
                      v.flops.value());
  return text + fmt::format("  apart from one rank            {}\n", distances(v));
}

std::string differences(const VerifyReport& report, const TextStyle& style) {
  std::vector<std::vector<std::string>> rows{{"difference", "where", "expected", "executed"}};
  std::size_t left_out = 0;
  const auto append = [&](const Verification& v) {
    if (v.equal()) return;
    rows.push_back({style.bold(presets::to_command_words(v.scenario)), "", "", ""});
    if (!v.fault.empty()) rows.push_back({"  " + v.fault, "", "", ""});
    for (const Mismatch& m : v.mismatches) {
      left_out += rows.size() > kMostListed ? 1 : 0;
      if (rows.size() > kMostListed) continue;
      rows.push_back(
          {"  " + m.what, place(m), fmt::format("{}", m.predicted), fmt::format("{}", m.executed)});
    }
  };
  std::for_each(report.layouts.begin(), report.layouts.end(), append);
  std::for_each(report.recorded.begin(), report.recorded.end(), append);
  if (rows.size() == 1) return {};
  std::string text = format_table(rows, 2);
  if (left_out > 0) text += fmt::format("  and {} more; --json has all\n", left_out);
  return text + "\n";
}

/// "120 layouts on up to 16 ranks".
std::string counted(const std::vector<Verification>& done, std::string_view what) {
  std::int64_t most_ranks = 0;
  for (const Verification& v : done) most_ranks = std::max(most_ranks, v.ranks);
  return fmt::format("{} {}{} on up to {} ranks", done.size(), what, done.size() == 1 ? "" : "s", most_ranks);
}

std::int64_t numbers_compared(const std::vector<Verification>& done) {
  std::int64_t compared = 0;
  for (const Verification& v : done) compared += v.compared;
  return compared;
}

std::string verdict(const std::vector<Verification>& done, const TextStyle& style) {
  const auto different =
      std::count_if(done.begin(), done.end(), [](const Verification& v) { return !v.equal(); });
  return (different == 0 ? style.good("No difference.") : style.bad(fmt::format("{} differ.", different))) +
         "\n";
}

JsonValue mismatch_json(const Mismatch& m) {
  JsonObject object{{"what", m.what}, {"predicted", m.predicted}, {"executed", m.executed}};
  if (m.rank >= 0) object.emplace_back("rank", m.rank);
  return object;
}

JsonArray mismatches_json(const Verification& v) {
  JsonArray mismatches;
  for (const Mismatch& m : v.mismatches) mismatches.push_back(mismatch_json(m));
  return mismatches;
}

JsonValue layout_json(const Verification& v) {
  return JsonObject{{"scenario", presets::to_command_words(v.scenario)},
                    {"ranks", v.ranks},
                    {"compared", v.compared},
                    {"equal", v.equal()},
                    {"loss", v.loss},
                    {"loss_error", v.loss_error},
                    {"gradient_norm_error", v.norm_error},
                    {"parameter_error", v.parameter_error},
                    {"predicted_bytes", v.predicted_memory.total().value()},
                    {"executed_bytes", v.most_bytes},
                    {"messages", v.messages},
                    {"communicated_bytes", v.communicated.value()},
                    {"flops", v.flops.value()},
                    {"fault", v.fault},
                    {"differences", mismatches_json(v)}};
}

/// Of a recorded step nothing is predicted and no second run compared: `predicted` of a difference is what
/// was recorded.
JsonValue record_json(const Verification& v) {
  return JsonObject{{"scenario", presets::to_command_words(v.scenario)},
                    {"ranks", v.ranks},
                    {"compared", v.compared},
                    {"equal", v.equal()},
                    {"fault", v.fault},
                    {"differences", mismatches_json(v)}};
}

}  // namespace

std::string verify_text(const VerifyReport& report, const TextStyle& style) {
  if (report.rejected) {
    return fmt::format("{}: {} ({})\n{}\n", style.bad("Not executed"), report.rejected->reason,
                       report.rejected->rule, report.rejected->advice);
  }
  if (!report.coverage.empty()) return coverage_text(report.coverage);
  std::string text;
  if (!report.changes.empty()) {
    text += "Shrunk:";
    for (const std::string& change : report.changes) text += (text.back() == ':' ? " " : ", ") + change;
    text += "\n";
  }
  if (report.layouts.size() == 1) text += one_layout(report.layouts.front(), style);
  text += differences(report, style);
  const double quantised = largest_distance(report, true);
  text += fmt::format("{}, seed {}: {} numbers compared, largest relative distance from one rank {:.1e}{}. ",
                      counted(report.layouts, "layout"), report.seed, numbers_compared(report.layouts),
                      largest_distance(report, false),
                      quantised > 0 ? fmt::format(" ({:.1e} where gradients are quantised)", quantised) : "");
  text += verdict(report.layouts, style);
  if (report.recorded.empty()) return text;
  return text + fmt::format("{}: {} numbers compared with the record. {}",
                            counted(report.recorded, "recorded step"), numbers_compared(report.recorded),
                            verdict(report.recorded, style));
}

JsonValue verify_json(const VerifyReport& report) {
  JsonArray layouts, recorded, changes;
  for (const Verification& v : report.layouts) layouts.push_back(layout_json(v));
  for (const Verification& v : report.recorded) recorded.push_back(record_json(v));
  for (const std::string& change : report.changes) changes.emplace_back(change);
  if (report.rejected) {
    return JsonObject{{"schema", "hexaplan/verification/1"},
                      {"rejected", JsonObject{{"rule", report.rejected->rule},
                                              {"reason", report.rejected->reason},
                                              {"advice", report.rejected->advice}}}};
  }
  if (!report.coverage.empty()) {
    return JsonObject{{"schema", "hexaplan/verification/1"},
                      {"seed", report.seed},
                      {"coverage", coverage_json(report.coverage)}};
  }
  return JsonObject{{"schema", "hexaplan/verification/1"},
                    {"seed", report.seed},
                    {"equal", report.equal()},
                    {"shrunk", std::move(changes)},
                    {"layouts", std::move(layouts)},
                    {"recorded", std::move(recorded)}};
}

}  // namespace hexaplan::cli
