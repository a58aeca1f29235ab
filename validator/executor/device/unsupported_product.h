#pragma once
#include <stdexcept>

namespace hexaplan::validator {

/// A matrix product that the device turns out not to have. Nothing was computed; the device stays usable.
class UnsupportedProduct : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace hexaplan::validator
