#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>

#include "cli/version.h"

namespace hexaplan::cli {
namespace {

/// A recipe field that has a flag of its own.
struct RecipeFlagInfo {
  const char* flag;
  const char* key;
  const char* value;
  const char* help;
};
constexpr RecipeFlagInfo kRecipeFlags[] = {
    {"--seq", "sequence", "TOKENS",
     "Sequence length: 4096, 8k (= 8192). Default: 4096, or the model's context length if shorter"},
    {"--micro-batch", "micro_batch", "N", "Sequences per data-parallel rank and pass. Default: 1"},
    {"--global-batch", "global_batch", "N",
     "Sequences per optimizer step. Default: enough to run 4 micro-batches per pipeline stage (1 without "
     "pipeline)"},
    {"--precision", "precision", "TYPE",
     "Type of the matrix products: fp32 tf32 fp16 bf16 fp8 fp8-block mxfp8 nvfp4. Default: bf16"},
    {"--recompute", "recompute", "POLICY",
     "none, selective, selective-op, full, layers=4, modules=core_attn,norm. Default: none"},
    {"--optimizer", "optimizer", "NAME", "adamw adamw-8bit adafactor lion sgd muon lamb. Default: adamw"},
    {"--attention", "attention", "KERNEL", "flash, fused-softmax, unfused. Default: flash"},
    {"--cross-entropy", "cross_entropy", "KIND",
     "default (what the framework does), unfused, fused, chunked"},
    {"--params-dtype", "parameter_dtype", "TYPE",
     "Type in which parameters are kept for compute. Default: the framework's"},
    {"--grad-dtype", "gradient_dtype", "TYPE",
     "Type in which gradients are accumulated. Default: the framework's"},
    {"--dropout", "dropout", "P", "Dropout probability; above 0 masks are saved. Default: 0"},
    {"--fine-tune", "fine_tune", "KIND", "pretrain, full, lora, qlora, ia3. Default: pretrain"},
    {"--lora-rank", "lora_rank", "N", "Rank of LoRA adapters"},
    {"--offload", "offload", "WHAT", "Kept in host memory: optimizer, params or activations"},
    {"--capacity-factor", "capacity_factor", "X",
     "Tokens beyond X times the mean per expert are dropped. Default: 0, none are"},
    {"--routing-imbalance", "routing_imbalance", "X",
     "Tokens of the busiest expert rank over the mean. Default: 1"},
    {"--tokens", "tokens", "N", "Training budget, for days, GPU-hours and cost: 15T, 300B"},
};

/// Choices that shell completion offers, by flag.
const std::map<std::string, std::vector<std::string>>& choices_by_flag() {
  static const std::map<std::string, std::vector<std::string>> choices = {
      {"--precision", {"fp32", "tf32", "fp16", "bf16", "fp8", "fp8-block", "mxfp8", "nvfp4"}},
      {"--recompute", {"none", "selective", "selective-op", "full"}},
      {"--optimizer", {"adamw", "adamw-8bit", "adafactor", "lion", "sgd", "muon", "lamb"}},
      {"--attention", {"flash", "fused-softmax", "unfused"}},
      {"--cross-entropy", {"default", "unfused", "fused", "chunked"}},
      {"--fine-tune", {"pretrain", "full", "lora", "qlora", "ia3"}},
      {"--schedule",
       {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-2p", "zb-v", "vhalf", "dualpipe", "dualpipev"}},
      {"--colour", {"auto", "always", "never"}},
      {"SHELL", {"bash", "zsh", "fish"}},
      {"ACTION", {"list", "show"}},
      {"KIND", {"models", "gpus", "clusters", "frameworks", "calibrations"}},
  };
  return choices;
}

OptionInfo describe(const CLI::Option& option) {
  OptionInfo info;
  if (!option.get_lnames().empty()) info.flag = "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) info.letter = "-" + option.get_snames().front();
  if (option.get_items_expected_max() > 0) info.value = option.get_type_name();
  info.help = option.get_description();
  const auto found = choices_by_flag().find(info.flag.empty() ? info.value : info.flag);
  if (found != choices_by_flag().end()) info.choices = found->second;
  return info;
}

CommandInfo describe(const CLI::App& app) {
  CommandInfo info{.name = app.get_name(), .help = app.get_description()};
  for (const CLI::Option* option : app.get_options()) info.options.push_back(describe(*option));
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    info.commands.push_back(describe(*command));
  }
  return info;
}

/// Everything the parser writes into. Lives as long as the parser.
struct Parsed {
  Invocation invocation;
  EstimateOptions estimate;
  PresetsOptions presets;
  AccuracyOptions accuracy;
  std::map<std::string, std::string> recipe;  // by flag
  std::string schedule, action, shell, colour = "auto", worst;
};

void add_common_options(CLI::App& app, Parsed& parsed) {
  CommonOptions& common = parsed.invocation.common;
  app.add_flag("--json", common.json, "Result as JSON (docs/json.md)");
  app.add_option("-o,--output", common.output, "Write the result to FILE instead of stdout")
      ->type_name("FILE");
  app.add_flag("--quiet", common.quiet, "No notes on stderr");
  app.add_option("--colour,--color", parsed.colour, "auto, always or never")->type_name("WHEN");
}

/// The options of `estimate` with the flags that become recipe fields or layout words.
EstimateOptions finished(const Parsed& parsed) {
  EstimateOptions options = parsed.estimate;
  for (const RecipeFlagInfo& info : kRecipeFlags) {
    const std::string& text = parsed.recipe.at(info.flag);
    if (!text.empty()) options.recipe.push_back({info.key, info.flag, text});
  }
  if (!parsed.schedule.empty()) options.layout += (options.layout.empty() ? "" : " ") + parsed.schedule;
  return options;
}

void add_estimate(CLI::App& root, Parsed& parsed) {
  CLI::App& app = *root.add_subcommand("estimate", "Memory and step time of one layout");
  EstimateOptions& o = parsed.estimate;
  app.add_option("--model", o.model, "Preset, a Hugging Face config.json, its folder, or - for stdin")
      ->type_name("MODEL");
  app.add_option("--cluster", o.cluster, "GPUs and network: 8xH100, 64xA100-80GB, 16x8xH200+ib400")
      ->type_name("CLUSTER");
  app.add_option("--layout", o.layout,
                 "\"tp8 pp4 dp16 zero1 sp vpp2 cp2 ep8 etp1 fsdp hsdp8 …\"; dp follows from the cluster when "
                 "left out")
      ->type_name("LAYOUT");
  for (const RecipeFlagInfo& info : kRecipeFlags) {
    app.add_option(info.flag, parsed.recipe[info.flag], info.help)->type_name(info.value);
  }
  app.add_option("--schedule", parsed.schedule,
                 "Pipeline schedule, as in the layout: 1f1b, interleaved, zb-h1, zb-v, …")
      ->type_name("NAME");
  app.add_option("--framework", o.framework, "Framework profile. Default: megatron")->type_name("NAME");
  app.add_option("--calibration", o.calibration,
                 "Measured curves: preset or FILE. Default: those of the GPU type")
      ->type_name("FILE");
  app.add_option("--price", o.price, "US dollars per GPU-hour. Default: the GPU preset's")
      ->type_name("DOLLARS");
  app.add_option("--scenario", o.scenario, "Read the question from a file (- for stdin); flags override it")
      ->type_name("FILE");
  app.add_option("--save-scenario", o.save_scenario, "Write the question to a file")->type_name("FILE");
  app.add_flag("--explain", o.explain, "Largest tensors and operations, with formula, function and source");
  app.add_flag("--require-fit", o.require_fit, "Exit with 3 when the layout does not fit");
  add_common_options(app, parsed);
  app.callback([&parsed] { parsed.invocation.command = finished(parsed); });
}

void add_presets(CLI::App& root, Parsed& parsed) {
  CLI::App& app = *root.add_subcommand(
      "presets", "Models, GPUs, clusters, frameworks and calibrations that come with Hexaplan");
  app.add_option("action", parsed.action, "list or show")->type_name("ACTION");
  app.add_option("kind", parsed.presets.kind, "models, gpus, clusters, frameworks, calibrations")
      ->type_name("KIND");
  app.add_option("name", parsed.presets.name, "Preset to show")->type_name("NAME");
  add_common_options(app, parsed);
  app.callback([&parsed] {
    if (parsed.action != "list" && parsed.action != "show") {
      throw UsageError{fmt::format("presets: got \"{}\", expected list or show", parsed.action)};
    }
    parsed.presets.show = parsed.action == "show";
    if (parsed.presets.show && parsed.presets.name.empty())
      throw UsageError{"presets show: expected a kind and a name, as in 'presets show gpus h100-80-sxm'"};
    if (!parsed.presets.show && !parsed.presets.name.empty())
      throw UsageError{
          fmt::format("presets list: unexpected '{}'; did you mean 'presets show'?", parsed.presets.name)};
    parsed.invocation.command = parsed.presets;
  });
}

void add_accuracy(CLI::App& root, Parsed& parsed) {
  CLI::App& app = *root.add_subcommand(
      "accuracy", "Predict every row of tables of published measurements and score the predictions");
  app.add_option("tables", parsed.accuracy.tables, "CSV files with the normalised columns (docs/accuracy.md)")
      ->type_name("TABLE.csv")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--rows", parsed.accuracy.rows,
               "Every row: predicted, measured, error, and why it was not scored");
  app.add_option("--worst", parsed.worst, "Rows with the largest errors to list. Default: 10")
      ->type_name("N");
  add_common_options(app, parsed);
  app.callback([&parsed] {
    if (parsed.accuracy.tables.empty())
      throw UsageError{"accuracy: no table, as in 'hexaplan accuracy TABLE.csv'"};
    if (!parsed.worst.empty()) {
      const bool digits =
          parsed.worst.find_first_not_of("0123456789") == std::string::npos && parsed.worst.size() < 7;
      if (!digits)
        throw UsageError{
            fmt::format("--worst: got \"{}\", expected a whole number from 0 to 999999", parsed.worst)};
      parsed.accuracy.worst = std::stoi(parsed.worst);
    }
    parsed.invocation.command = parsed.accuracy;
  });
}

void add_help_commands(CLI::App& root, Parsed& parsed) {
  CLI::App& completion = *root.add_subcommand("completion", "Completion script for a shell");
  completion.add_option("shell", parsed.shell, "bash, zsh or fish")->type_name("SHELL");
  completion.callback([&root, &parsed] {
    if (parsed.shell != "bash" && parsed.shell != "zsh" && parsed.shell != "fish") {
      throw UsageError{fmt::format("completion: got \"{}\", expected bash, zsh or fish", parsed.shell)};
    }
    parsed.invocation.command = PrintText{completion_script(describe(root), parsed.shell)};
  });
  root.add_subcommand("man", "Manual page, for man -l -")->callback([&root, &parsed] {
    parsed.invocation.command = PrintText{manual_page(describe(root), version_text())};
  });
}

void set_colour(Parsed& parsed) {
  static const std::map<std::string, Colour> values = {
      {"auto", Colour::Auto}, {"always", Colour::Always}, {"never", Colour::Never}};
  const auto found = values.find(parsed.colour);
  if (found == values.end())
    throw UsageError{fmt::format("--colour: got \"{}\", expected auto, always or never", parsed.colour)};
  parsed.invocation.common.colour = found->second;
}

}  // namespace

Invocation parse_command_line(int argc, const char* const* argv) {
  Parsed parsed;
  CLI::App root{"Memory and step time of training large transformers", "hexaplan"};
  root.set_version_flag("--version", "hexaplan " + version_text());
  root.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // scripts append overrides
  add_estimate(root, parsed);
  add_presets(root, parsed);
  add_accuracy(root, parsed);
  add_help_commands(root, parsed);
  root.require_subcommand(1);
  const std::string problem = find_unknown_word(describe(root), {argv + 1, argv + argc});
  if (!problem.empty()) throw UsageError{problem};
  try {
    root.parse(argc, argv);
    set_colour(parsed);
  } catch (const CLI::CallForHelp&) {
    parsed.invocation.command = PrintText{root.help()};
  } catch (const CLI::CallForVersion& version) {
    parsed.invocation.command = PrintText{std::string{version.what()} + "\n"};
  } catch (const CLI::ParseError& error) {
    throw UsageError{argc < 2 ? "no command; see 'hexaplan --help'" : error.what()};
  }
  return parsed.invocation;
}

}  // namespace hexaplan::cli
