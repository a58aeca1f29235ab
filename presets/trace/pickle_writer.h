#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "presets/trace/trace_writer.h"

namespace hexaplan::presets {

/// Writes plain data as a pickle of protocol 2 (https://docs.python.org/3/library/pickletools.html), in
/// pieces: whatever comes first stays in no memory. Texts are written once and named by number from then on.
class PickleWriter {
 public:
  explicit PickleWriter(TraceSink sink);

  void text(std::string_view text);
  void number(std::int64_t number);
  void truth(bool truth);
  void begin_dict();
  void key(std::string_view name);  // before its value
  void end_dict();
  void begin_list();
  void next_item();  // before each
  void end_list();
  /// Remembers the value just written; remembered() is that value again.
  [[nodiscard]] std::uint32_t remember();
  void remembered(std::uint32_t number);
  void pair_of_zeros();
  void finish();

 private:
  static constexpr int kMostItems = 1000;  // put on the stack before they join their list, as Python does
  void put(char code) { buffer_ += code; }
  void put_integer(std::uint64_t number, int bytes);
  void flush();

  TraceSink sink_;
  std::string buffer_;
  std::vector<int> waiting_;  // by open list: items that have not joined it
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::uint32_t memo_ = 0;
};

}  // namespace hexaplan::presets
