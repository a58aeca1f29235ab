#pragma once
#include <string>

#include "presets/json/input_error.h"

namespace hexaplan::presets {

/// What a person reads when `action` fails; "no error" when it does not.
template <class Action>
std::string error_text(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace hexaplan::presets
