#pragma once
#include <cstdint>
#include <string>

#include "cli/commands/question.h"
#include "cli/render/terminal.h"
#include "costmodel/step/estimate.h"

namespace hexaplan::cli {

/// Two lines that say what was asked, and a blank one. `estimate` may be that of a rejected layout.
[[nodiscard]] std::string heading(const Question& question, std::int64_t parameters,
                                  const costmodel::Estimate& estimate, const TextStyle& style);

/// Why a layout cannot run and what to do about it.
[[nodiscard]] std::string rejected_lines(const costmodel::Rejected& rejected, const TextStyle& style);

}  // namespace hexaplan::cli
