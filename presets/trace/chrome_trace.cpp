#include "presets/trace/chrome_trace.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "presets/json/json_value.h"
#include "presets/json/number_text.h"

namespace hexaplan::presets {

using costmodel::kSpanKinds;
using costmodel::kStreams;
using costmodel::MemoryPoint;
using costmodel::Seconds;
using costmodel::Simulation;
using costmodel::Span;
using costmodel::SpanKind;
using costmodel::StageTimeline;
using costmodel::Stream;

namespace {

double microseconds(Seconds time) {
  return time.value() * 1e6;
}

constexpr std::size_t kLongestEvent = 1 << 9;  // of spans and memory; names may be any length

/// A text that many events contain. write() copies all 64 bytes: a constant size is several times as fast as
/// the text's own.
class Fragment {
 public:
  Fragment() = default;
  explicit Fragment(std::string_view text) : length_{text.size()} {
    assert(text.size() <= text_.size());
    std::copy(text.begin(), text.end(), text_.begin());
  }
  char* write(char* at) const {
    std::memcpy(at, text_.data(), text_.size());
    return at + length_;
  }

 private:
  std::array<char, 64> text_{};
  std::size_t length_ = 0;
};

/// The texts of numbers that were written last: durations come again and again.
class NumberTexts {
 public:
  char* write(double number, char* at) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    Entry& entry = entries_[(bits * 0x9E3779B97F4A7C15) >> (64 - kBits)];  // Fibonacci hashing
    if (entry.bits != bits) entry = {bits, text_of(number)};
    return entry.text.write(at);
  }

 private:
  static constexpr int kBits = 10;
  struct Entry {
    std::uint64_t bits;
    Fragment text;
  };
  static Fragment text_of(double number) {
    std::array<char, kLongestNumber> text{};
    const char* const end = write_number(number, text.data());
    return Fragment{{text.data(), static_cast<std::size_t>(end - text.data())}};
  }
  // Begins with the text of 0, whose bits are 0, everywhere.
  std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << kBits, Entry{0, text_of(0)});
};

template <std::size_t kSize>
char* put_literal(const char (&text)[kSize], char* at) {
  std::memcpy(at, text, kSize - 1);
  return at + kSize - 1;
}

char* put_integer(std::int64_t number, char* at) {
  return fmt::format_to(at, FMT_COMPILE("{}"), number);
}

JsonObject name_event(std::string_view what, int process, int thread, JsonObject arguments) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", std::move(arguments)}};
}

}  // namespace

/// Writes the array of events, one a line, in pieces.
class ChromeTraceWriter::Events {
 public:
  explicit Events(TraceSink sink) : sink_{std::move(sink)}, text_(kTracePiece) {
    for (std::size_t i = 0; i < kSpanKinds; ++i) {
      const std::string_view kind = name_of(static_cast<SpanKind>(i));
      kinds_[i] = {Fragment{fmt::format("{{\"name\":\"{}", kind)},
                   Fragment{fmt::format("\",\"cat\":\"{}\",\"ph\":\"X\",\"pid\":", kind)}};
    }
  }

  void add(int stage, const StageTimeline& piece) {
    name(stage, piece);
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      const Fragment row{fmt::format("{},\"tid\":{},\"ts\":", stage, stream)};
      for (const Span& span : piece.streams[stream]) add(row, span);
    }
    const Fragment row{fmt::format("{{\"name\":\"live memory (bytes)\",\"ph\":\"C\",\"pid\":{},", stage)};
    for (const MemoryPoint& point : piece.memory) add(row, point);
  }

  void put(std::string_view text) {
    while (!text.empty()) {
      if (used_ == text_.size()) flush();
      const std::size_t some = std::min(text.size(), text_.size() - used_);
      std::copy_n(text.begin(), some, text_.begin() + static_cast<std::ptrdiff_t>(used_));
      used_ += some;
      text.remove_prefix(some);
    }
  }
  void flush() {
    sink_({text_.data(), used_});
    used_ = 0;
  }

 private:
  struct KindText {
    Fragment name, category;
  };
  struct Named {
    bool process = false;
    std::array<bool, kStreams> threads{};
  };

  void add(const JsonObject& event) {
    put(first_ ? "" : ",\n");
    first_ = false;
    put(to_text(event, JsonStyle::Compact));
  }
  /// Where the next event of at most kLongestEvent goes.
  char* room() {
    if (text_.size() - used_ < kLongestEvent) flush();
    char* const at = text_.data() + used_;
    return std::exchange(first_, false) ? at : put_literal(",\n", at);
  }
  void end_at(const char* end) { used_ = static_cast<std::size_t>(end - text_.data()); }

  /// Names the process, and threads that have events for the first time.
  void name(int stage, const StageTimeline& piece) {
    const auto index = static_cast<std::size_t>(stage);
    if (index >= named_.size()) named_.resize(index + 1);
    Named& named = named_[index];
    if (!std::exchange(named.process, true)) {
      add(name_event("process_name", stage, 0, {{"name", fmt::format("stage {}", stage)}}));
      add(name_event("process_sort_index", stage, 0, {{"sort_index", stage}}));
    }
    for (int i = 0; i < kStreams; ++i) {
      const auto stream = static_cast<std::size_t>(i);
      if (piece.streams[stream].empty() || std::exchange(named.threads[stream], true)) continue;
      add(name_event("thread_name", stage, i, {{"name", name_of(static_cast<Stream>(i))}}));
      add(name_event("thread_sort_index", stage, i, {{"sort_index", i}}));
    }
  }

  void add(const Fragment& row, const Span& span) {
    const KindText& kind = kinds_[static_cast<std::size_t>(span.kind)];
    std::array<char, kLongestNumber> number{};
    const bool numbered = span.microbatch >= 0;
    const std::ptrdiff_t digits = numbered ? put_integer(span.microbatch, number.data()) - number.data() : 0;
    const auto write_microbatch = [&](char* to) {
      std::memcpy(to, number.data(), number.size());
      return to + digits;
    };
    char* at = kind.name.write(room());
    if (numbered) at = write_microbatch(put_literal(" ", at));
    at = row.write(kind.category.write(at));
    at = put_literal(",\"dur\":", write_number(microseconds(span.begin), at));
    at = put_literal(",\"args\":{", durations_.write(microseconds(span.end - span.begin), at));
    if (numbered) at = write_microbatch(put_literal("\"microbatch\":", at));
    if (numbered && span.chunk >= 0) at = put_literal(",", at);
    if (span.chunk >= 0) at = put_integer(span.chunk, put_literal("\"chunk\":", at));
    end_at(put_literal("}}", at));
  }

  /// Two series that viewers stack.
  void add(const Fragment& row, const MemoryPoint& point) {
    const std::int64_t activations = whole(point.activations);
    char* at = put_literal("\"ts\":", row.write(room()));
    at = write_number(microseconds(point.at), at);
    at = put_integer(activations, put_literal(",\"args\":{\"activations\":", at));
    at = put_integer(whole(point.allocated) - activations, put_literal(",\"everything else\":", at));
    end_at(put_literal("}}", at));
  }

  TraceSink sink_;
  std::vector<char> text_;
  std::size_t used_ = 0;
  bool first_ = true;
  std::array<KindText, kSpanKinds> kinds_;
  std::vector<Named> named_;  // by stage
  NumberTexts durations_;
};

ChromeTraceWriter::ChromeTraceWriter(std::string title, TraceSink sink)
    : title_{std::move(title)}, events_{std::make_unique<Events>(std::move(sink))} {
  events_->put("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
}
ChromeTraceWriter::~ChromeTraceWriter() = default;

void ChromeTraceWriter::add(int stage, const StageTimeline& piece) {
  events_->add(stage, piece);
}

void ChromeTraceWriter::finish(const Simulation& simulation) {
  const JsonObject about{{"title", title_},
                         {"step_seconds", simulation.total.value()},
                         {"microbatches", simulation.microbatches},
                         {"made_by", kTraceMadeBy}};
  events_->put(fmt::format("\n],\"otherData\":{}}}\n", to_text(about, JsonStyle::Compact)));
  events_->flush();
}

}  // namespace hexaplan::presets
