#include "cli/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "cli/options.h"
#include "presets/json/read_json.h"
#include "validator/measure/store/database.h"

namespace hexaplan::cli {
namespace {

using presets::InputError;
using presets::InputProblem;
using presets::JsonObject;
using presets::JsonValue;

struct TypedValue {
  std::string flag, text;
};

/// What was typed behind each option: "--gpu h100", "--gpu=h100".
std::vector<TypedValue> typed_values(const std::vector<std::string>& words) {
  std::vector<TypedValue> values;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") break;
    if (!words[i].starts_with("--")) continue;
    const std::size_t equals = words[i].find('=');
    if (equals != std::string::npos) {
      values.push_back({words[i].substr(0, equals), words[i].substr(equals + 1)});
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      values.push_back({words[i], words[i + 1]});
    }
  }
  return values;
}

/// The option behind which a refused value was typed, the one that is called as the field first; "8xH1000" of
/// --cluster has the GPU "H1000". Null: it came from somewhere else.
const TypedValue* option_of(const InputProblem& problem, const std::vector<TypedValue>& values) {
  const std::string_view value = problem.value;
  if (!problem.file.empty() || value.size() < 3 || value.front() != '"' || value.back() != '"')
    return nullptr;
  const std::string_view refused = value.substr(1, value.size() - 2);
  const TypedValue* found = nullptr;
  for (const TypedValue& typed : values) {
    if (typed.text.find(refused) == std::string::npos) continue;
    if (found == nullptr || typed.flag == "--" + problem.field) found = &typed;
  }
  return found;
}

Failure failure_of(InputProblem problem, const std::vector<std::string>& words) {
  bool typed = problem.file.empty() && problem.field.starts_with("--");
  if (!typed) {
    const std::vector<TypedValue> values = typed_values(words);
    const TypedValue* option = option_of(problem, values);
    typed = option != nullptr;
    if (typed) problem.field = option->flag;
  }
  const InputError named{std::move(problem)};
  return {typed ? ExitCode::Usage : ExitCode::UnusableInput, named.what(), named.problem};
}

bool asks_for_json(const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, "--json") != end;
}

JsonValue text_or_null(const std::string& text) {
  return text.empty() ? JsonValue{} : JsonValue{text};
}

JsonValue failure_json(const Failure& failure) {
  const InputProblem& problem = failure.problem;
  const bool both = !problem.file.empty() && !problem.field.empty();
  return JsonObject{
      {"schema", "hexaplan/error/1"},
      {"error", JsonObject{{"message", failure.message},
                           {"where", text_or_null(problem.file + (both ? ": " : "") + problem.field)},
                           {"got", text_or_null(problem.value)},
                           {"expected", text_or_null(problem.expected)},
                           {"hint", text_or_null(problem.hint)},
                           {"exit_code", static_cast<std::int64_t>(failure.code)}}}};
}

}  // namespace

Failure current_failure(const std::vector<std::string>& words) {
  try {
    throw;
  } catch (const UsageError& error) {
    return {ExitCode::Usage, error.what(), {}};
  } catch (const InputError& error) {
    return failure_of(error.problem, words);
  } catch (const validator::StoreError& error) {
    return {ExitCode::UnusableInput, error.what(), {}};
  } catch (const std::bad_alloc&) {
    return {ExitCode::UnusableInput,
            fmt::format("out of memory on this host during 'hexaplan {}'; ask for less: fewer micro-batches, "
                        "GPUs or candidates",
                        words.empty() ? "" : words.front()),
            {}};
  } catch (const std::exception& error) {
    return {ExitCode::Internal, error.what(), {}};
  }
}

void tell(const Failure& failure, const std::vector<std::string>& words) {
  fmt::print(stderr, "hexaplan: {}\n", failure.message);
  if (!asks_for_json(words)) return;
  const std::string document = presets::to_text(failure_json(failure)) + "\n";
  if (std::fwrite(document.data(), 1, document.size(), stdout) == document.size()) std::fflush(stdout);
}

}  // namespace hexaplan::cli
