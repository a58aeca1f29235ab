#include "validator/executor/step/token_source.h"

#include <cassert>
#include <utility>

#include "validator/executor/parameters/initial_values.h"

namespace hexaplan::validator {

std::int64_t shuffled_place(std::int64_t place, std::int64_t count, std::uint64_t seed, std::int64_t round) {
  assert(place >= 0 && place < count);
  constexpr std::uint64_t kOrderStream = 0x6F72646572;  // apart from the other streams
  constexpr int kRounds = 4;
  int half_bits = 1;
  while ((std::int64_t{1} << (2 * half_bits)) < count) ++half_bits;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  auto at = static_cast<std::uint64_t>(place);
  do {
    std::uint64_t left = at >> half_bits, right = at & mask;
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      const std::uint64_t key = (static_cast<std::uint64_t>(round) * kRounds + i) << 32 | right;
      const std::uint64_t mixed = (left ^ counter_random(seed, kOrderStream, key)) & mask;
      left = std::exchange(right, mixed);
    }
    at = left << half_bits | right;
  } while (at >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(at);
}

TokenSource TokenSource::random(std::uint64_t seed, std::int64_t vocab, std::int64_t sequence) {
  TokenSource source;
  source.seed_ = seed;
  source.vocab_ = vocab;
  source.sequence_ = sequence;
  return source;
}

TokenSource TokenSource::from_tokens(std::vector<std::int32_t> tokens, std::int64_t sequence,
                                     std::optional<std::uint64_t> shuffle) {
  assert(static_cast<std::int64_t>(tokens.size()) > sequence);
  TokenSource source;
  source.sequence_ = sequence;
  source.tokens_ = std::move(tokens);
  source.shuffle_ = shuffle;
  return source;
}

std::int32_t TokenSource::at(std::int64_t index, std::int64_t place) const {
  if (tokens_.empty()) {
    constexpr std::uint64_t kTokenStream = 0x746F6B656E73;  // apart from the parameters' streams
    const auto counter = static_cast<std::uint64_t>(index * (sequence_ + 1) + place);
    return static_cast<std::int32_t>(counter_random(seed_, kTokenStream, counter) %
                                     static_cast<std::uint64_t>(vocab_));
  }
  const auto windows = (static_cast<std::int64_t>(tokens_.size()) - 1) / sequence_;
  const std::int64_t window =
      shuffle_ ? shuffled_place(index % windows, windows, *shuffle_, index / windows) : index % windows;
  return tokens_[static_cast<std::size_t>(window * sequence_ + place)];
}

}  // namespace hexaplan::validator
