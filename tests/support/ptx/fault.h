#pragma once
#include <stdexcept>
#include <string>

namespace hexaplan::tests::ptx {

/// What is wrong with a kernel, or with the text that it was read from.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace hexaplan::tests::ptx
