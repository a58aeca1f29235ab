#pragma once
#include <string>

#include "cli/commands/question.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

/// The tiers of the cluster's network and how far up each process group goes; nothing of a network without
/// tiers.
[[nodiscard]] std::string network_lines(const Question& question, const TextStyle& style);
/// The same; null without tiers.
[[nodiscard]] presets::JsonValue network_json(const Question& question);

}  // namespace hexaplan::cli
