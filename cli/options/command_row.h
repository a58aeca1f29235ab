#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/options.h"

namespace hexaplan::cli {

/// One option of a command, as data; only options/parse.cpp knows the parser library.
struct OptionRow {
  std::string flags;  // "--model", "-o,--output"; a word without dashes is a positional argument
  std::string value;  // placeholder of its value, "FILE"; empty: a switch
  std::string help;
  /// Switch, one text (the last one given counts), or every text.
  std::variant<bool*, std::string*, std::vector<std::string>*> target;
  std::vector<std::string> choices;  // words that shell completion offers
  std::string_view group = {};       // heading in the help; empty: the command's own options
};

/// One command: its options write into values that `finish` owns and turns into what is to be run.
struct CommandRow {
  std::string name;
  std::string help;
  std::vector<OptionRow> options;
  /// Called after parsing when the command was given. Throws UsageError.
  std::function<Command()> finish;
};

/// Options of the question itself, which estimate, simulate, search and run share: --model, --cluster,
/// --layout, the recipe's flags, --scenario …; `question` must outlive the rows.
void append_scenario_options(std::vector<OptionRow>& rows, ScenarioOptions& question);
/// Removes the options that a command gives another meaning, or none.
void remove_options(std::vector<OptionRow>& rows, std::initializer_list<std::string_view> flags);

/// What is typed of a job's processes; the rows refer to it.
struct JobWords {
  std::string rank, world, timeout;
};
/// --rank, --world, --master and --timeout.
void append_job_options(std::vector<OptionRow>& rows, JobWords& words, JobOptions& job);
/// UsageError.
void read_job(const JobWords& words, JobOptions& job);

/// Reads a number above 0, at most `most`. UsageError that names `flag`.
[[nodiscard]] double positive_number(const std::string& text, const std::string& flag, double most,
                                     const char* expected);
/// Reads a whole number from 0 to `most`. UsageError that names `flag`.
[[nodiscard]] int whole_number(const std::string& text, const std::string& flag, int most);
/// The value of --steps: 1 to `most`. UsageError.
[[nodiscard]] int step_count(const std::string& text, int most);
/// The value of --memory-limit, "80GiB", in bytes. UsageError.
[[nodiscard]] std::int64_t memory_limit(const std::string& text);

/// The options of `search`, which write into `options`.
[[nodiscard]] std::vector<OptionRow> search_options(SearchOptions& options);

// One function per command, each in options/<command>.cpp.
[[nodiscard]] CommandRow estimate_row();
[[nodiscard]] CommandRow simulate_row();
[[nodiscard]] CommandRow search_row();
[[nodiscard]] CommandRow finetune_row();
[[nodiscard]] CommandRow posttrain_row();
[[nodiscard]] CommandRow compare_row();
[[nodiscard]] CommandRow diff_row();
[[nodiscard]] CommandRow export_row();
[[nodiscard]] CommandRow import_row();
[[nodiscard]] CommandRow cluster_row();
[[nodiscard]] CommandRow report_row();
[[nodiscard]] CommandRow presets_row();
[[nodiscard]] CommandRow accuracy_row();
[[nodiscard]] CommandRow run_row();
[[nodiscard]] CommandRow backends_row();
[[nodiscard]] CommandRow verify_row();
[[nodiscard]] CommandRow validate_row();
[[nodiscard]] CommandRow oracle_row();
[[nodiscard]] CommandRow measure_row();
[[nodiscard]] CommandRow runs_row();
[[nodiscard]] CommandRow calibrate_row();

}  // namespace hexaplan::cli
