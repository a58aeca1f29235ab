#pragma once
#include <cmath>

#include "costmodel/program/names.h"

namespace hexaplan::validator {

/// f(a, b) and its slopes ∂f/∂a and ∂f/∂b at one place.
template <class T>
struct ValueAndSlopes {
  T value, in_a, in_b;
};

/// One over 1 + e⁻ˣ; 0 and 1 where the exponential over- and underflows.
template <class T>
constexpr T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

/// Every element-wise function of a step program, for kernels of CPUs and GPUs. Functions of one operand do
/// not look at `b`, and their slope in it is 0.
template <class T>
constexpr ValueAndSlopes<T> point_of(costmodel::program::Function function, T a, T b) {
  using costmodel::program::Function;
  switch (function) {
    case Function::Product:
      return {a * b, b, a};
    case Function::SigmoidGate: {  // gated attention: arXiv:2505.06708 §2.2
      const T open = sigmoid(b);
      return {a * open, open, a * open * (1 - open)};
    }
    case Function::SiluGate: {  // the gated norm of arXiv:2405.21060 §7.1
      const T open = sigmoid(b);
      return {a * b * open, b * open, a * open * (1 + b * (1 - open))};
    }
    case Function::Count:
      break;
  }
  return {};
}

}  // namespace hexaplan::validator
