#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "costmodel/program/ops.h"
#include "costmodel/spec/framework_profile.h"

namespace hexaplan::costmodel::program {

// A compiled program as the list of what is priced, counted and shown, while its sizes are symbols.

/// What an operation of such a list costs by.
enum class Price : std::uint8_t {
  Matrix,
  Attention,
  MergeBlocks,   // what attention to a further block of keys made
  ScaleColumns,  // by learned scales
  RowNorms,      // of a matrix with its adapters added to it
  Dequantise,    // a weight that is kept in 4 bits
  Traffic,       // memory-bound, by the framework's rule
  Kernel,        // one that reads its operands and writes its results, in every framework
  Message,
};

/// What a kernel reads or writes, and how often.
struct Moved {
  Shape shape{};
  double times = 0;
};

/// One row of such a list while its sizes are symbols. Scenarios that share a compiled program share its
/// steps, so that a search makes them once per variant.
struct Step {
  Price price = Price::Traffic;
  Site site = Site::Gradients;
  Kind kind = Kind::Add;  // of the program's operation, of the first one where several are one step
  Pass pass = Pass::Forward;
  bool recomputed = false;

  // Matrices.
  Weight weight{};
  Rows rows = Rows::Tokens;  // that it is applied to
  bool quantised = false;
  // Memory-bound steps.
  Elementwise rule = Elementwise::Norm;
  std::array<Shape, 4> shapes{};  // whose elements the rule counts
  std::size_t counted = 0;
  bool both = false;  // no operation answers it in backward; the rule's backward traffic is its own, too
  // Kernels.
  std::array<Moved, 14> moved{};
  std::size_t operands = 0;  // of them
  // Messages.
  Shape payload{};
  Group group = Group::Tensor;
  int times = 1;
  int chunks = 1;  // everything else: parts of the tokens that it runs for one by one
};

/// The steps of a program in execution order; what it runs again is marked at its forward step. Memory-bound
/// operations of one site and rule are one step, messages of one size are one step that runs several times.
[[nodiscard]] std::vector<Step> steps_of(const Program& program);

}  // namespace hexaplan::costmodel::program
