#include <memory>
#include <string>
#include <vector>

#include "cli/options/command_row.h"
#include "presets/json/field_text.h"
#include "presets/posttrain/post_training_request.h"

namespace hexaplan::cli {
namespace {

void append_post_training_options(std::vector<OptionRow>& rows, PostTrainOptions& options) {
  const auto fields = presets::post_training_fields();
  const auto models = presets::model_flags();
  options.words.resize(fields.size());
  options.models.resize(models.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    rows.push_back({std::string{fields[i].flag}, std::string{fields[i].value}, std::string{fields[i].help},
                    &options.words[i], presets::words_in(fields[i].choices)});
  }
  for (std::size_t i = 0; i < models.size(); ++i) {
    const char* value = models[i].key == "layout" ? "LAYOUT" : models[i].key.empty() ? "none" : "MODEL";
    rows.push_back({std::string{models[i].flag}, value, std::string{models[i].help}, &options.models[i]});
  }
}

}  // namespace

CommandRow posttrain_row() {
  const auto options = std::make_shared<PostTrainOptions>();
  CommandRow row{.name = "posttrain",
                 .help =
                     "Post-training (GRPO, PPO, DPO) as one plan: actor, reference, critic, reward model and "
                     "rollout engine, memory and time by phase"};
  append_scenario_options(row.options, options->question);
  remove_options(row.options, {"--seq", "--global-batch", "--tokens", "--checkpoint", "--checkpoint-interval",
                               "--gpu-mtbf", "--node-mtbf", "--link-mtbf", "--storage-bandwidth",
                               "--restart-time", "--repair-time", "--spare-nodes", "--pue", "--from"});
  for (OptionRow& option : row.options) {
    if (option.flags == "--recompute") option.help = "As for estimate. Default: full";
    if (option.flags == "--framework") option.help = "Framework profile. Default: fsdp2";
    if (option.flags == "--layout") option.help += ". Default: fsdp";
    if (option.flags == "--micro-batch") option.help = "Longest sequences per pass of a trainer. Default: 1";
  }
  append_post_training_options(row.options, *options);
  row.options.push_back({"--require-fit", "", "Exit with 3 when it does not fit", &options->require_fit});
  row.finish = [options] { return *options; };
  return row;
}

}  // namespace hexaplan::cli
