#include "cli/commands/ready_device.h"

#include <optional>

#include "presets/json/input_error.h"
#include "validator/executor/backends/backends.h"

namespace hexaplan::cli {

validator::BackendState ready_device(const std::string& name) {
  std::optional<validator::BackendState> state = validator::find_backend(name);
  const bool known = state && state->role == validator::BackendRole::Device;
  if (known && state->available) return *std::move(state);
  throw presets::InputError{
      {.field = "--device",
       .value = presets::in_quotes(name),
       .expected = known ? "a device that is ready (" + state->detail + ")" : "a device that this build has",
       .hint = known ? state->remedy : "see 'hexaplan backends'"}};
}

}  // namespace hexaplan::cli
