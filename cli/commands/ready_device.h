#pragma once
#include <string>

namespace hexaplan::validator {
struct BackendState;
}

namespace hexaplan::cli {

/// What is known of the device that `--device` names. Throws InputError when this build does not have it or
/// this machine cannot run it, with the reason and what to do.
[[nodiscard]] validator::BackendState ready_device(const std::string& name);

}  // namespace hexaplan::cli
