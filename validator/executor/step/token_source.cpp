#include "validator/executor/step/token_source.h"

#include <cassert>
#include <utility>

#include "validator/executor/parameters/initial_values.h"

namespace hexaplan::validator {

TokenSource TokenSource::random(std::uint64_t seed, std::int64_t vocab, std::int64_t sequence) {
  TokenSource source;
  source.seed_ = seed;
  source.vocab_ = vocab;
  source.sequence_ = sequence;
  return source;
}

TokenSource TokenSource::from_tokens(std::vector<std::int32_t> tokens, std::int64_t sequence) {
  assert(static_cast<std::int64_t>(tokens.size()) > sequence);
  TokenSource source;
  source.sequence_ = sequence;
  source.tokens_ = std::move(tokens);
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
  return tokens_[static_cast<std::size_t>(index % windows * sequence_ + place)];
}

}  // namespace hexaplan::validator
