#include "presets/tokens/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "costmodel/units/parse_number.h"
#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMost16Bit = 1 << 16;

/// How one token lies in a file.
struct TokenType {
  std::uint8_t code;  // Megatron-LM's DType
  int bytes;
  bool is_signed;
};
constexpr std::array kTokenTypes{TokenType{1, 1, false}, TokenType{2, 1, true}, TokenType{3, 2, true},
                                 TokenType{4, 4, true},  TokenType{5, 8, true}, TokenType{8, 2, false}};
constexpr TokenType k16Bit{8, 2, false}, k32Bit{0, 4, false};

/// Refuses a token that the model does not know, before it indexes a table.
class CheckedTokens {
 public:
  CheckedTokens(const fs::path& path, std::int64_t vocab) : path_{path}, vocab_{vocab} {}
  void add(std::optional<std::int64_t> token, const std::string& text) {
    if (!token || *token < 0 || *token >= vocab_) {
      throw InputError({.file = path_.string(),
                        .field = fmt::format("token {}", tokens_.size() + 1),
                        .value = in_quotes(text),
                        .expected = fmt::format("a whole number from 0 to {}", vocab_ - 1)});
    }
    tokens_.push_back(static_cast<std::int32_t>(*token));
  }
  [[nodiscard]] std::vector<std::int32_t> take() { return std::move(tokens_); }

 private:
  const fs::path& path_;
  std::int64_t vocab_;
  std::vector<std::int32_t> tokens_;
};

std::ifstream open_to_read(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file || fs::is_directory(path))
    throw InputError({.file = path.string(), .expected = "a file of tokens that can be read"});
  return file;
}

TokenType type_in_index(const fs::path& path) {
  constexpr std::string_view kMagic{"MMIDIDX\0\0", 9};
  // After the magic: the version (8 bytes), then the type.
  std::array<char, kMagic.size() + 8 + 1> head{};
  std::ifstream file = open_to_read(path);
  file.read(head.data(), head.size());
  const bool known = file && std::string_view{head.data(), kMagic.size()} == kMagic;
  for (const TokenType& type : kTokenTypes) {
    if (known && type.code == static_cast<std::uint8_t>(head.back())) return type;
  }
  throw InputError(
      {.file = path.string(), .expected = "the index of a Megatron-LM data set of whole numbers"});
}

std::int64_t number_at(const char* bytes, const TokenType& type) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, static_cast<std::size_t>(type.bytes));
  const int unused = 64 - 8 * type.bytes;
  if (type.is_signed) return static_cast<std::int64_t>(bits << unused) >> unused;
  return static_cast<std::int64_t>(bits);
}

void read_binary(const fs::path& path, const TokenType& type, CheckedTokens& tokens) {
  std::ifstream file = open_to_read(path);
  const auto size = static_cast<std::int64_t>(fs::file_size(path));
  if (size % type.bytes != 0) {
    throw InputError({.file = path.string(),
                      .value = fmt::format("{} bytes", size),
                      .expected = fmt::format("tokens of {} bytes each", type.bytes)});
  }
  std::vector<char> block(1 << 20);  // a multiple of every type's bytes
  for (std::int64_t left = size; left > 0;) {
    const std::int64_t wanted = std::min(left, std::ssize(block));
    if (!file.read(block.data(), wanted))
      throw InputError({.file = path.string(), .expected = "a file of tokens that can be read"});
    for (std::int64_t at = 0; at < wanted; at += type.bytes) {
      const std::int64_t token = number_at(block.data() + at, type);
      tokens.add(token, std::to_string(token));
    }
    left -= wanted;
  }
}

void read_text(const fs::path& path, CheckedTokens& tokens) {
  std::ifstream file = open_to_read(path);
  for (std::string word; file >> word;) tokens.add(costmodel::parse_number<std::int64_t>(word), word);
}

}  // namespace

std::vector<std::int32_t> read_token_file(const fs::path& path, std::int64_t vocab) {
  CheckedTokens tokens{path, vocab};
  const fs::path index = fs::path{path}.replace_extension(".idx");
  if (path.extension() != ".bin") {
    read_text(path, tokens);
  } else if (fs::exists(index)) {
    read_binary(path, type_in_index(index), tokens);
  } else {
    read_binary(path, vocab <= kMost16Bit ? k16Bit : k32Bit, tokens);
  }
  return tokens.take();
}

}  // namespace hexaplan::presets
