#include "presets/trace/pickle_writer.h"

#include <limits>
#include <utility>

namespace hexaplan::presets {
namespace {

// Opcodes (Lib/pickletools.py).
constexpr char kProtocol = '\x80', kStop = '.', kMark = '(', kEmptyDict = '}', kSetItems = 'u';
constexpr char kEmptyList = ']', kAppends = 'e', kText = 'X', kInteger = 'J', kLong = '\x8a';
constexpr char kTrue = '\x88', kFalse = '\x89', kPair = '\x86', kPut = 'r', kGet = 'j';

}  // namespace

PickleWriter::PickleWriter(TraceSink sink) : sink_{std::move(sink)} {
  put(kProtocol);
  put('\x02');
}

void PickleWriter::put_integer(std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) put(static_cast<char>(number >> (8 * i) & 0xff));
}

void PickleWriter::text(std::string_view text) {
  const auto [entry, first] = texts_.try_emplace(std::string{text}, 0);
  if (!first) return remembered(entry->second);
  put(kText);
  put_integer(text.size(), 4);
  buffer_ += text;
  entry->second = remember();
}

void PickleWriter::number(std::int64_t number) {
  const bool fits = number >= std::numeric_limits<std::int32_t>::min() &&
                    number <= std::numeric_limits<std::int32_t>::max();
  if (fits) {
    put(kInteger);
    put_integer(static_cast<std::uint64_t>(number), 4);
  } else {
    put(kLong);
    put('\x08');
    put_integer(static_cast<std::uint64_t>(number), 8);
  }
}

void PickleWriter::truth(bool truth) {
  put(truth ? kTrue : kFalse);
}

void PickleWriter::begin_dict() {
  put(kEmptyDict);
  put(kMark);
}
void PickleWriter::key(std::string_view name) {
  text(name);
}
void PickleWriter::end_dict() {
  put(kSetItems);
}

void PickleWriter::begin_list() {
  put(kEmptyList);
  waiting_.push_back(0);
}
void PickleWriter::next_item() {
  int& waiting = waiting_.back();
  if (waiting == kMostItems) {
    put(kAppends);
    waiting = 0;
  }
  if (waiting++ == 0) put(kMark);
  flush();
}
void PickleWriter::end_list() {
  if (waiting_.back() > 0) put(kAppends);
  waiting_.pop_back();
}

std::uint32_t PickleWriter::remember() {
  put(kPut);
  put_integer(memo_, 4);
  return memo_++;
}
void PickleWriter::remembered(std::uint32_t number) {
  put(kGet);
  put_integer(number, 4);
}

void PickleWriter::pair_of_zeros() {
  number(0);
  number(0);
  put(kPair);
}

void PickleWriter::finish() {
  put(kStop);
  sink_(buffer_);
  buffer_.clear();
}

void PickleWriter::flush() {
  constexpr std::size_t longest_item = 1 << 12;
  if (buffer_.size() < kTracePiece - longest_item) return;
  sink_(buffer_);
  buffer_.clear();
}

}  // namespace hexaplan::presets
