#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hexaplan::validator {

/// Where training tokens come from: one endless row of sequences, the same whatever the layout. Sequence i
/// is sequence + 1 tokens: inputs are all but the last, targets all but the first.
class TokenSource {
 public:
  /// Uniform over the vocabulary, a function of seed, sequence and place alone.
  static TokenSource random(std::uint64_t seed, std::int64_t vocab, std::int64_t sequence);
  /// Windows of `sequence` + 1 tokens of `tokens`, each starting `sequence` after the one before; from the
  /// start again at the end. Preconditions: tokens.size() > sequence, tokens below the vocabulary.
  static TokenSource from_tokens(std::vector<std::int32_t> tokens, std::int64_t sequence);

  /// Token `place` (0 … sequence) of sequence `index`.
  [[nodiscard]] std::int32_t at(std::int64_t index, std::int64_t place) const;

 private:
  std::uint64_t seed_ = 0;
  std::int64_t vocab_ = 0, sequence_ = 0;
  std::vector<std::int32_t> tokens_;
};

}  // namespace hexaplan::validator
