#include "recorded_answers.h"

#include <algorithm>

#include "presets/json/read_json.h"
#include "presets/oracle/oracle_question.h"

namespace hexaplan::presets {
namespace {

std::vector<RecordedAnswer> read_all() {
  const JsonDocument file =
      read_json_file(std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/oracle/answers.json");
  std::vector<RecordedAnswer> all;
  for (const JsonValue& value : *file.root.find("cases")->get_if<JsonArray>()) {
    RecordedAnswer& recorded = all.emplace_back();
    recorded.name = *value.find("name")->get_if<std::string>();
    recorded.request = with_oracle_defaults(read_scenario({.file = "case", .root = *value.find("scenario")}));
    recorded.scenario = resolve(recorded.request).scenario;
    recorded.question = *value.find("question");
    recorded.answer = *value.find("answer");
  }
  return all;
}

}  // namespace

FrameworkStep RecordedAnswer::step() const {
  return read_framework_step({.file = name, .root = answer});
}

const std::vector<RecordedAnswer>& recorded_answers() {
  static const std::vector<RecordedAnswer> all = read_all();
  return all;
}

const RecordedAnswer& recorded_answer(const std::string& name) {
  return *std::ranges::find(recorded_answers(), name, &RecordedAnswer::name);
}

}  // namespace hexaplan::presets
