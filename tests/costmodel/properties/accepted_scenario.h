#pragma once
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "tests/support/random_scenario.h"

namespace hexaplan::costmodel {

/// A scenario that the rules accept; others are drawn again.
inline Scenario accepted_scenario() {
  const Scenario s = *support::any_scenario();
  RC_PRE(!first_rejection(s).has_value());
  return s;
}

/// `s` after `change`, if the rules still accept it; the case is drawn again otherwise.
template <class Change>
Scenario accepted_with(Scenario s, Change change) {
  change(s);
  RC_PRE(!first_rejection(s).has_value());
  return s;
}

/// a <= b up to rounding.
inline bool at_most(double a, double b) {
  return a <= b + 1e-9 * std::abs(b);
}
inline bool at_most(Bytes a, Bytes b) {
  return at_most(a.value(), b.value());
}
inline bool at_most(Seconds a, Seconds b) {
  return at_most(a.value(), b.value());
}

}  // namespace hexaplan::costmodel
