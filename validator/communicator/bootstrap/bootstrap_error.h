#pragma once
#include <stdexcept>

namespace hexaplan::validator {

/// Processes of a job cannot find each other. One line: what, where, what to do.
struct BootstrapError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace hexaplan::validator
