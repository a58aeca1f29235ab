#pragma once
#include <exception>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "costmodel/units/quantity.h"
#include "presets/oracle/framework_step.h"

namespace hexaplan::presets {

struct FrameworkAsking {
  std::string python;  // empty: that of $VIRTUAL_ENV, else python3
  costmodel::Seconds limit{600};
  std::stop_token stop;
  /// Told what is being done, "import of torch 2.15.0"; may be empty.
  std::function<void(std::string_view)> stage;
};

/// `stop` was requested.
struct AskingStopped : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "stopped"; }
};

/// The Python that is run for `asked`.
[[nodiscard]] std::string python_for(const std::string& asked);

/// scripts/oracle/answer.py, beside the presets that come with Hexaplan. InputError when it is not there.
[[nodiscard]] std::filesystem::path oracle_script();

/// Runs the step of `question` (oracle_question.h) in the framework itself, with the user's Python, without a
/// GPU; nothing is installed. InputError says what is missing, what failed, and what to do. AskingStopped.
[[nodiscard]] FrameworkStep ask_framework(const JsonValue& question, const FrameworkAsking& asking);

}  // namespace hexaplan::presets
