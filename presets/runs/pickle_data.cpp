#include "presets/runs/pickle_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "costmodel/units/parse_number.h"
#include "presets/json/input_error.h"
#include "presets/runs/byte_stream.h"

namespace hexaplan::presets {

using Index = PickleValue::Index;

namespace {

constexpr std::size_t kLongestText = 1 << 24;
constexpr std::size_t kMostMemos = kMostPickleValues;
constexpr std::size_t kMostMarks = 10'000'000;
constexpr std::size_t kMostKeysLookedAt = 256;

/// Opcodes that name, make or call something (CPython Lib/pickletools.py).
constexpr std::pair<unsigned char, std::string_view> kRefusedOpcodes[] = {
    {'c', "GLOBAL"},    {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},          {'b', "BUILD"},
    {'i', "INST"},      {'o', "OBJ"},           {0x81, "NEWOBJ"},         {0x92, "NEWOBJ_EX"},
    {0x82, "EXT1"},     {0x83, "EXT2"},         {0x84, "EXT4"},           {'P', "PERSID"},
    {'Q', "BINPERSID"}, {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"}};

}  // namespace

/// The stack machine of a pickle, with the opcodes of data alone.
class PickleReader {
 public:
  explicit PickleReader(const std::filesystem::path& path) : file_{path.string()}, stream_{path} {}

  PickleDocument read() {
    bool more = true;
    while (more) {
      start_ = at_;
      more = step(static_cast<unsigned char>(byte()));
    }
    return std::move(document_);
  }

 private:
  [[noreturn]] void fail(std::string value, std::string expected, std::string hint = {}) const {
    throw InputError({.file = fmt::format("{}: byte {}", file_, start_),
                      .value = std::move(value),
                      .expected = std::move(expected),
                      .hint = std::move(hint)});
  }
  [[noreturn]] void damaged() const { fail("a pickle that makes no sense here", "an undamaged pickle"); }

  int byte() {
    const int next = stream_.next();
    if (next < 0) fail("the end of the file", "a whole pickle", "write the snapshot again");
    ++at_;
    return next;
  }
  std::uint64_t number(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(byte()) << (8 * i);
    return value;
  }
  std::string text(std::uint64_t length) {
    if (length > kLongestText) fail(fmt::format("a text of {} bytes", length), "texts of at most 16 MiB");
    std::string value;
    for (std::uint64_t i = 0; i < length; ++i) value += static_cast<char>(byte());
    return value;
  }
  std::string line() {
    std::string value;
    for (int next = byte(); next != '\n'; next = byte()) {
      value += static_cast<char>(next);
      if (value.size() > kLongestText) damaged();
    }
    return value;
  }

  template <class T>
  void push(T value) {
    if (document_.values_.size() >= kMostPickleValues)
      fail(fmt::format("more than {} values", kMostPickleValues), "a smaller snapshot",
           "record fewer events (max_entries)");
    document_.values_.push_back({std::move(value)});
    stack_.push_back(static_cast<Index>(document_.values_.size() - 1));
  }
  Index pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back())) damaged();
    const Index top = stack_.back();
    stack_.pop_back();
    return top;
  }
  std::vector<Index> pop_to_mark() {
    if (marks_.empty()) damaged();
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Index> items{first, stack_.end()};
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }
  template <class T>
  T& top_as() {
    if (stack_.empty()) damaged();
    T* value = std::get_if<T>(&document_.values_[stack_.back()].data);
    if (value == nullptr) damaged();
    return *value;
  }

  void put(std::uint64_t key) {
    if (stack_.empty() || memo_.size() >= kMostMemos) damaged();
    memo_[key] = stack_.back();
  }
  void get(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end() || stack_.size() >= kMostPickleValues) damaged();
    stack_.push_back(found->second);
  }

  void tuple(std::size_t size) {
    std::vector<Index> items(size);
    for (std::size_t i = size; i-- > 0;) items[i] = pop();
    push(PickleValue::List{std::move(items)});
  }
  void set_items(const std::vector<Index>& items) {
    if (items.size() % 2 != 0) damaged();
    auto& dict = top_as<PickleValue::Dict>();
    for (std::size_t i = 0; i < items.size(); i += 2) dict.items.emplace_back(items[i], items[i + 1]);
  }
  void append(const std::vector<Index>& items) {
    auto& list = top_as<PickleValue::List>();
    list.items.insert(list.items.end(), items.begin(), items.end());
  }

  /// Two's complement, little endian; what 64 bits cannot hold is held at their limit.
  void long_integer(std::uint64_t length) {
    const std::string digits = text(length);
    const bool negative = !digits.empty() && (static_cast<unsigned char>(digits.back()) & 0x80U) != 0;
    std::uint64_t value = negative ? ~0ULL : 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(8, digits.size()); ++i) {
      const unsigned shift = static_cast<unsigned>(8 * i);
      value &= ~(0xFFULL << shift);
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(digits[i])) << shift;
    }
    push(static_cast<std::int64_t>(value));
  }
  void text_integer() {
    std::string value = line();
    if (value == "00" || value == "01") return push(value == "01");
    if (value.ends_with('L')) value.pop_back();
    const auto read = costmodel::parse_number<std::int64_t>(value);
    if (!read) damaged();
    push(*read);
  }
  void text_real() {
    const auto read = costmodel::parse_number<double>(line());
    if (!read) damaged();
    push(*read);
  }
  void binary_real() {
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8U | static_cast<std::uint64_t>(byte());
    push(std::bit_cast<double>(bits));
  }

  /// One opcode; false: the pickle ends with it.
  bool step(unsigned char code) {
    switch (code) {
      case '.':
        document_.root_ = pop();
        return false;
      case '(':
        if (marks_.size() >= kMostMarks) damaged();
        marks_.push_back(stack_.size());
        return true;
      case '0':
        (void)pop();
        return true;
      case '1':
        (void)pop_to_mark();
        return true;
      case 0x80:
        (void)byte();
        return true;  // PROTO
      case 0x95:
        (void)number(8);
        return true;  // FRAME
      default:
        break;
    }
    if (!step_memo(code) && !step_scalar(code) && !step_text(code) && !step_container(code)) refuse(code);
    return true;
  }
  bool step_memo(unsigned char code) {
    switch (code) {
      case 'q':
        put(number(1));
        return true;
      case 'r':
        put(number(4));
        return true;
      case 0x94:
        put(memo_.size());
        return true;
      case 'h':
        get(number(1));
        return true;
      case 'j':
        get(number(4));
        return true;
      case 'p':
        put(text_key());
        return true;
      case 'g':
        get(text_key());
        return true;
      default:
        return false;
    }
  }
  std::uint64_t text_key() {
    const auto key = costmodel::parse_number<std::uint32_t>(line());
    if (!key) damaged();
    return *key;
  }
  bool step_scalar(unsigned char code) {
    switch (code) {
      case 'N':
        push(std::monostate{});
        return true;
      case 0x88:
        push(true);
        return true;
      case 0x89:
        push(false);
        return true;
      case 'K':
        push(static_cast<std::int64_t>(number(1)));
        return true;
      case 'M':
        push(static_cast<std::int64_t>(number(2)));
        return true;
      case 'J':
        push(static_cast<std::int64_t>(static_cast<std::int32_t>(number(4))));
        return true;
      case 0x8a:
        long_integer(number(1));
        return true;
      case 0x8b:
        long_integer(number(4));
        return true;
      case 'I':
      case 'L':
        text_integer();
        return true;
      case 'F':
        text_real();
        return true;
      case 'G':
        binary_real();
        return true;
      default:
        return false;
    }
  }
  bool step_text(unsigned char code) {
    switch (code) {
      case 0x8c:
      case 'C':
      case 'U':
        push(text(number(1)));
        return true;
      case 'X':
      case 'B':
      case 'T':
        push(text(number(4)));
        return true;
      case 0x8d:
      case 0x8e:
        push(text(number(8)));
        return true;
      case 'V':
      case 'S':
        push(line());
        return true;
      default:
        return false;
    }
  }
  bool step_container(unsigned char code) {
    switch (code) {
      case '}':
        push(PickleValue::Dict{});
        return true;
      case ']':
      case ')':
        push(PickleValue::List{});
        return true;
      case 'l':
      case 't':
        push(PickleValue::List{pop_to_mark()});
        return true;
      case 0x85:
        tuple(1);
        return true;
      case 0x86:
        tuple(2);
        return true;
      case 0x87:
        tuple(3);
        return true;
      case 'a':
        append({pop()});
        return true;
      case 'e':
        append(pop_to_mark());
        return true;
      case 's': {
        const Index value = pop();
        const Index key = pop();
        set_items({key, value});
        return true;
      }
      case 'u':
        set_items(pop_to_mark());
        return true;
      case 'd': {
        const std::vector<Index> items = pop_to_mark();
        push(PickleValue::Dict{});
        set_items(items);
        return true;
      }
      default:
        return false;
    }
  }
  [[noreturn]] void refuse(unsigned char code) const {
    const auto found = std::find_if(std::begin(kRefusedOpcodes), std::end(kRefusedOpcodes),
                                    [&](const auto& row) { return row.first == code; });
    if (found == std::end(kRefusedOpcodes))
      fail(fmt::format("opcode 0x{:02x}", code), "a pickle of plain data");
    fail(fmt::format("{}, which makes or calls an object", found->second), "a pickle of plain data",
         "a memory snapshot holds none: nothing in this file is run");
  }

  std::string file_;
  ByteStream stream_;
  PickleDocument document_;
  std::vector<Index> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Index> memo_;
  std::uint64_t at_ = 0, start_ = 0;
};

const PickleValue* PickleDocument::find(const PickleValue& dict, std::string_view key) const {
  const auto* items = std::get_if<PickleValue::Dict>(&dict.data);
  if (items == nullptr) return nullptr;
  const auto end =
      items->items.begin() + static_cast<std::ptrdiff_t>(std::min(items->items.size(), kMostKeysLookedAt));
  const auto found = std::find_if(items->items.begin(), end, [&](const auto& item) {
    const auto* text = std::get_if<std::string>(&at(item.first).data);
    return text != nullptr && *text == key;
  });
  return found == end ? nullptr : &at(found->second);
}

bool PickleDocument::is_true(const PickleValue& dict, std::string_view key) const {
  const PickleValue* value = find(dict, key);
  const auto* said = value == nullptr ? nullptr : std::get_if<bool>(&value->data);
  return said != nullptr && *said;
}

std::int64_t PickleDocument::integer(const PickleValue& dict, std::string_view key,
                                     std::int64_t otherwise) const {
  const PickleValue* value = find(dict, key);
  const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->data);
  return number == nullptr ? otherwise : *number;
}

std::string_view PickleDocument::text(const PickleValue& dict, std::string_view key) const {
  const PickleValue* value = find(dict, key);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(&value->data);
  return text == nullptr ? std::string_view{} : std::string_view{*text};
}

const std::vector<Index>& PickleDocument::items(const PickleValue& dict, std::string_view key) const {
  static const std::vector<Index> kNone;
  const PickleValue* value = find(dict, key);
  const auto* list = value == nullptr ? nullptr : std::get_if<PickleValue::List>(&value->data);
  return list == nullptr ? kNone : list->items;
}

PickleDocument read_pickle(const std::filesystem::path& path) {
  return PickleReader{path}.read();
}

bool is_pickle(const std::filesystem::path& path) {
  ByteStream stream{path};
  const int first = stream.next();
  const int protocol = stream.next();
  return first == 0x80 && protocol >= 2 && protocol <= 5;
}

}  // namespace hexaplan::presets
