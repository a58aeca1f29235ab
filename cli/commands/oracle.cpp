#include "cli/commands/oracle.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <stop_token>
#include <utility>

#include "cli/commands/interrupts.h"
#include "cli/commands/question.h"
#include "cli/write_file.h"
#include "presets/oracle/ask_framework.h"
#include "presets/oracle/oracle_question.h"

namespace hexaplan::cli {
namespace {

/// Asks until an answer is there or a signal comes, which is returned.
int ask_until_stopped(const presets::JsonValue& question, presets::FrameworkAsking asking,
                      presets::FrameworkStep& step) {
  std::stop_source stop;
  std::atomic<int> signal{0};
  const auto end = [&](int received) {
    signal = received;
    stop.request_stop();
  };
  const Interrupts interrupts{end, AfterSignal::GoOn};
  asking.stop = stop.get_token();
  try {
    step = presets::ask_framework(question, asking);
  } catch (const presets::AskingStopped&) {
  }
  return signal;
}

/// How PyTorch keeps weights, as a person says it.
std::string weights_text(const presets::JsonValue& question) {
  const std::string& word = *question.find("weights")->get_if<std::string>();
  return word == "autocast" ? "fp32 weights under autocast" : word + " weights";
}

void save_profile(const std::string& file, OracleReport& report) {
  report.profile = presets::own_profile(report.scenario, report.step, report.request.framework);
  if (report.profile->file.is_null()) return;
  write_file(file, presets::to_text(report.profile->file) + "\n");
  report.saved = file;
}

}  // namespace

OracleReport run_oracle(const OracleOptions& options, bool tell) {
  OracleReport report;
  std::vector<std::string> notes;
  report.request = presets::with_oracle_defaults(read_request(options.question, &notes));
  if (!options.save.empty() && presets::would_inherit_itself(report.request.framework, options.save))
    throw UsageError{"--save: a profile cannot inherit itself; give it another file than --framework"};
  if (!options.question.save_scenario.empty())
    write_file(options.question.save_scenario, presets::to_text(to_json(report.request)) + "\n");
  presets::ResolvedScenario resolved = resolve_request(report.request, options.question);
  notes.insert(notes.end(), resolved.notes.begin(), resolved.notes.end());
  report.scenario = std::move(resolved.scenario);
  const presets::JsonValue question = presets::oracle_question(report.request, report.scenario);
  report.weights = weights_text(question);
  report.python = presets::python_for(options.python);
  presets::FrameworkAsking asking{.python = options.python, .limit = options.timeout};
  if (tell) {
    for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
    asking.stage = [&](std::string_view stage) { fmt::print(stderr, "{}: {}\n", report.python, stage); };
  }
  report.signal = ask_until_stopped(question, std::move(asking), report.step);
  if (report.signal != 0) return report;
  report.numbers = presets::compare_step(report.scenario, report.step);
  if (!options.save.empty()) save_profile(options.save, report);
  return report;
}

}  // namespace hexaplan::cli
