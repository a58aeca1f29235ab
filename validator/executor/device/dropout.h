#pragma once
#include <cstdint>

#include "validator/executor/device/view.h"

// Which numbers dropout leaves out. Constexpr functions without std::array, so that kernels on GPUs call
// them.

namespace hexaplan::validator {

/// Four random words.
struct RandomWords {
  std::uint32_t at[4];  // NOLINT(*-avoid-c-arrays): std::array's [] is the host's alone
};

/// Philox4x32 with ten rounds: a function of counter and key alone (Salmon et al., "Parallel random numbers:
/// as easy as 1, 2, 3", SC 2011, section 3.3; its constants: DEShawResearch/random123 philox.h).
[[nodiscard]] constexpr RandomWords philox(RandomWords counter, std::uint64_t key) {
  auto low = static_cast<std::uint32_t>(key), high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * counter.at[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * counter.at[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.at[1] ^ low, static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.at[3] ^ high, static_cast<std::uint32_t>(a)}};
    low += 0x9E3779B9U;
    high += 0xBB67AE85U;
  }
  return counter;
}

/// What a dropout leaves out of a matrix whose rows are tokens: a function of what a number is in the model
/// and the global batch, never of the rank that has it or of when it is asked for.
struct DropoutForm {
  std::uint64_t key = 0;      // of a step of a run
  std::uint32_t dropped = 0;  // numbers whose random word is smaller; 0: none
  double factor = 1;          // of the others: 1/(1 − rate)
  std::uint32_t place = 0;    // which of the model's dropouts, below 2¹⁶

  std::int64_t first_sequence = 0;  // in the global batch: that of row −first_row
  std::int64_t first_row = 0;       // rows of the micro-batch before the matrix begins
  std::int64_t sequence_rows = 1;   // of one sequence
  View positions;                   // rows × 1 of I32: in the sequence; empty: rows are in order of position
  std::int64_t width = 0;           // columns of one head; 0: all
  std::int64_t first_head = 0;      // of the model: that of the first column, below 2¹⁶

  [[nodiscard]] constexpr bool drops() const { return dropped > 0; }
  /// Random words of the four columns from 4·`quad` on of a head.
  [[nodiscard]] constexpr RandomWords words(std::int64_t sequence, std::int64_t position, std::int64_t head,
                                            std::int64_t quad) const {
    const auto number = static_cast<std::uint32_t>(first_sequence + sequence);
    const auto of_head = static_cast<std::uint32_t>(first_head + head);
    return philox({{static_cast<std::uint32_t>(quad), static_cast<std::uint32_t>(position), number,
                    place << 16 | of_head}},
                  key);
  }
  [[nodiscard]] constexpr bool keeps(std::int64_t sequence, std::int64_t position, std::int64_t head,
                                     std::int64_t column) const {
    return words(sequence, position, head, column / 4).at[column % 4] >= dropped;
  }
};

}  // namespace hexaplan::validator
