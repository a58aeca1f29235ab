#pragma once
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hexaplan::presets {

/// A value of a pickle: plain data. Lists and dicts refer to other values of the same document by index, so
/// that values may be shared, as in the pickle, and even contain themselves.
struct PickleValue {
  using Index = std::uint32_t;
  struct List {  // tuples, too
    std::vector<Index> items;
  };
  struct Dict {
    std::vector<std::pair<Index, Index>> items;
  };
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Dict> data;
};

/// What a pickle holds.
class PickleDocument {
 public:
  [[nodiscard]] const PickleValue& root() const { return at(root_); }
  [[nodiscard]] const PickleValue& at(PickleValue::Index index) const { return values_[index]; }
  /// The value under a text key; nullptr when there is none among the first keys (256; no snapshot has more
  /// than a dozen), or this is no dict.
  [[nodiscard]] const PickleValue* find(const PickleValue& dict, std::string_view key) const;
  /// The number under a key; `otherwise` when there is none.
  [[nodiscard]] std::int64_t integer(const PickleValue& dict, std::string_view key,
                                     std::int64_t otherwise) const;
  /// Whether True stands under a key.
  [[nodiscard]] bool is_true(const PickleValue& dict, std::string_view key) const;
  [[nodiscard]] std::string_view text(const PickleValue& dict, std::string_view key) const;
  /// Items of the list under a key; empty when there is none.
  [[nodiscard]] const std::vector<PickleValue::Index>& items(const PickleValue& dict,
                                                             std::string_view key) const;

 private:
  friend class PickleReader;
  std::deque<PickleValue> values_;
  PickleValue::Index root_ = 0;
};

inline constexpr std::size_t kMostPickleValues = 50'000'000;

/// Reads a pickle of protocol 0 to 5 without running anything: numbers, texts, lists, tuples and dicts.
/// InputError, with the offset, for every opcode that names, makes or calls an object (GLOBAL, REDUCE, …),
/// which a pickle of data alone has none of, and for a file that is damaged, cut off or no pickle.
[[nodiscard]] PickleDocument read_pickle(const std::filesystem::path& path);
/// Whether a file begins like a pickle of protocol 2 or later, perhaps gzip'ed.
[[nodiscard]] bool is_pickle(const std::filesystem::path& path);

}  // namespace hexaplan::presets
