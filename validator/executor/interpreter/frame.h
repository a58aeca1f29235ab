#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "costmodel/program/sizes.h"
#include "validator/executor/interpreter/runnable.h"
#include "validator/executor/parallel/expert.h"
#include "validator/executor/parallel/rank.h"

namespace hexaplan::validator {

/// What the host knows of a mixture of experts in one micro-batch: the router's choice and where the copies
/// of tokens go.
struct HostRouting {
  std::vector<std::int32_t> chosen;  // experts of every token, n × K
  /// How often each sequence's tokens chose each expert: b × E, of all ranks that share the sequences once
  /// they have added them up.
  std::vector<std::int32_t> counts;
  ExpertExchange exchange;
};

/// One micro-batch in one program: its live buffers, allocated and freed as Lifetimes says. Sizes are those
/// of the rank; rows of experts follow the router's choice.
class Frame {
 public:
  /// `of` outlives the frame.
  Frame(const Rank& rank, const Runnable& of, const costmodel::program::Sizes& sizes);

  /// The program's input and the gradient of its output, from whoever made them.
  void give_input(const Rank& rank, Tensor input);
  void give_output_gradient(Tensor gradient);
  /// The program's output and the gradient of its input, for whoever reads them.
  [[nodiscard]] Tensor take_output() { return take(of_->program.output); }
  [[nodiscard]] Tensor take_input_gradient() { return take(of_->program.d_input); }
  /// … its input, where it hands that on.
  [[nodiscard]] Tensor take_input() { return take(of_->program.input); }

  [[nodiscard]] const Runnable& runnable() const { return *of_; }
  /// The value as it lies in its buffer. Precondition: alive.
  [[nodiscard]] View view(costmodel::program::ValueId id) const;
  /// A weight that was written out, as the matrix that it is.
  [[nodiscard]] View matrix(costmodel::program::ValueId id) const;
  /// Makes what the operation writes and nobody made before.
  void allocate(const Rank& rank, const costmodel::program::Op& op);
  /// Frees what no operation behind position `at` touches.
  void release(std::size_t at);
  /// Frees what the operation at position `at` made for itself alone.
  void release_workspace(std::size_t at);
  /// Views of whole values show the tokens of one chunk of the loss from here on; which ones.
  struct Chunk {
    std::int64_t first = 0, count = 0;
  };
  Chunk enter_chunk(int chunk);
  void leave_chunks() { chunk_.reset(); }
  /// Frees what the operation at position `at` is the last to touch of what a chunk has for itself.
  void release_of_chunk(std::size_t at);
  /// What lies in one buffer lies in the other afterwards.
  void swap(costmodel::program::ValueId a, costmodel::program::ValueId b);
  /// Frees what was held until the end of the phase.
  void end_phase();

  /// Between forward and backward: of the program's input, which is all that the frame holds, tensor-parallel
  /// ranks keep a part each, and gather it.
  void cut_input(const Rank& rank);
  void gather_input(const Rank& rank);
  /// The same: what the frame holds goes to the host, and comes back. Precondition: the
  /// rank has a host memory.
  void offload(const Rank& rank);
  void fetch(const Rank& rank);

  HostRouting routing;

 private:
  [[nodiscard]] Tensor take(costmodel::program::ValueId id);
  [[nodiscard]] std::int64_t rows(costmodel::program::Rows symbol) const;
  [[nodiscard]] std::int64_t cols(const costmodel::program::Value& value) const;
  void release_if_last(costmodel::program::ValueId id, std::size_t at);

  const Runnable* of_;
  const costmodel::program::Sizes* sizes_;
  std::optional<Chunk> chunk_;
  std::int64_t exchange_place_ = 0;  // among the ranks that share an expert's columns
  std::vector<Tensor> buffers_;
  std::vector<Tensor> on_host_;  // in place of buffers that are offloaded
  std::vector<std::size_t> held_;
};

}  // namespace hexaplan::validator
