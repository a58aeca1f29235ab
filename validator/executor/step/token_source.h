#pragma once
#include <cstdint>
#include <optional>
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
  /// start again at the end. `shuffle`: in a random order of this seed, another one every time round.
  /// Preconditions: tokens.size() > sequence, tokens below the vocabulary.
  static TokenSource from_tokens(std::vector<std::int32_t> tokens, std::int64_t sequence,
                                 std::optional<std::uint64_t> shuffle = std::nullopt);

  /// Token `place` (0 … sequence) of sequence `index`.
  [[nodiscard]] std::int32_t at(std::int64_t index, std::int64_t place) const;

 private:
  std::uint64_t seed_ = 0;
  std::int64_t vocab_ = 0, sequence_ = 0;
  std::vector<std::int32_t> tokens_;
  std::optional<std::uint64_t> shuffle_;
};

/// Where `place` of [0, count) goes in an order that seed and round decide: a permutation that no memory is
/// needed for (a Feistel network over the next power of four, walked until it is inside: Black and Rogaway,
/// CT-RSA 2002).
[[nodiscard]] std::int64_t shuffled_place(std::int64_t place, std::int64_t count, std::uint64_t seed,
                                          std::int64_t round);

}  // namespace hexaplan::validator
