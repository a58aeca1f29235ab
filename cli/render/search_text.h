#pragma once
#include <string>

#include "charts/table_text.h"
#include "cli/commands/search.h"
#include "cli/render/terminal.h"
#include "presets/json/json_value.h"

namespace hexaplan::cli {

[[nodiscard]] std::string search_text(const SearchReport& report, const TextStyle& style);
/// The ranked plans with whole numbers and units in the heads, for --csv and --markdown.
[[nodiscard]] charts::Cells plan_cells(const SearchReport& report);
/// "hexaplan/search/1": docs/json.md.
[[nodiscard]] presets::JsonValue search_json(const SearchReport& report);

/// Words of the layout without what follows from the rest.
[[nodiscard]] std::string layout_words(const costmodel::Layout& layout);

}  // namespace hexaplan::cli
