#pragma once
#include <optional>
#include <stdexcept>
#include <string>

namespace hexaplan::validator {

/// A job cannot begin: its processes cannot find each other, or are too few. One line: what, where, what to
/// do.
struct BootstrapError : std::runtime_error {
  explicit BootstrapError(const std::string& text, std::optional<int> which = {})
      : std::runtime_error{text}, rank{which} {}
  std::optional<int> rank;  // that died
};

/// The other side of a connection has closed it.
struct ConnectionClosed : BootstrapError {
  ConnectionClosed() : BootstrapError{"process 0 has closed the connection: it has ended"} {}
};

}  // namespace hexaplan::validator
