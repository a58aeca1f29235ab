// What the command does with the machine around it, and a page cannot: files, signals, YAML.
#include <emscripten.h>

#include <cstdint>

#include "cli/search_progress.h"
#include "cli/write_file.h"
#include "presets/import/setting.h"
#include "presets/json/input_error.h"

namespace hexaplan::cli {

void write_file(const std::string& path, std::string_view /*text*/) {
  throw presets::InputError({.file = path, .value = "a file", .expected = "no file: a page writes none"});
}
void write_file(const std::string& path,
                const std::function<void(const std::function<void(std::string_view)>&)>& /*fill*/) {
  write_file(path, std::string_view{});
}

SearchProgressBar::SearchProgressBar(planner::SearchOptions& options, bool /*quiet*/)
    : terminal_{false}, previous_{nullptr} {
  options.progress = [this](const planner::SearchProgress& progress) { show(progress); };
}
SearchProgressBar::~SearchProgressBar() = default;

void SearchProgressBar::show(const planner::SearchProgress& progress) {
  EM_ASM(
      {
        if (globalThis.onSearchProgress) globalThis.onSearchProgress($0, $1);
      },
      progress.share, static_cast<double>(progress.priced));
}

}  // namespace hexaplan::cli

namespace hexaplan::presets {

// yaml-cpp is no header-only library, and Debian has it for this machine alone.
std::vector<Setting> settings_of_yaml(std::string_view /*text*/, const std::string& file) {
  throw InputError({.file = file,
                    .value = "YAML",
                    .expected = "a shell command, TOML or JSON",
                    .hint = "the command 'hexaplan import' and the window read YAML"});
}

}  // namespace hexaplan::presets
