#pragma once
#include "gui/app/document/evaluator.h"
#include "gui/app/jobs/search_job.h"
#include "presets/json/object_reader.h"

namespace hexaplan::gui {

/// A search as a project holds it: its question, its terms, and what it found, with the members of
/// hexaplan/search/1. Precondition: it did not break off.
[[nodiscard]] presets::JsonValue toJson(const SearchResult& result);
/// Listed plans are priced anew for what the file does not hold of them; SearchResult::outdated where that
/// comes out otherwise than when they were listed.
[[nodiscard]] SearchResultPtr readSearch(const presets::ValueReader& search, Evaluator& evaluator);

}  // namespace hexaplan::gui
