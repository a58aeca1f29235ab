#include "presets/tokens/token_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "presets/json/input_error.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::tests {
namespace {

using Tokens = std::vector<std::int32_t>;

template <class T>
std::string bytes_of(const std::vector<T>& numbers) {
  std::string out(numbers.size() * sizeof(T), '\0');
  std::memcpy(out.data(), numbers.data(), out.size());
  return out;
}

/// The head of Megatron-LM's IndexedDataset: magic, version 1, type; counts and sizes follow.
std::string index_of_type(char code) {
  return std::string{"MMIDIDX\0\0\1\0\0\0\0\0\0\0", 17} + code + std::string(32, '\0');
}

TEST(token_file, whole_numbers_with_blanks_between_them) {
  const TemporaryFolder folder;
  EXPECT_EQ(presets::read_token_file(folder.file("tokens.txt", "3 1\n4\t1  5\n"), 6),
            (Tokens{3, 1, 4, 1, 5}));
}

TEST(token_file, a_bin_has_16_bits_a_token_where_these_hold_the_vocabulary_and_else_32) {
  const TemporaryFolder folder;
  const auto narrow = folder.file("narrow.bin", bytes_of<std::uint16_t>({0, 50'256, 65'535}));
  EXPECT_EQ(presets::read_token_file(narrow, 65'536), (Tokens{0, 50'256, 65'535}));
  const auto wide = folder.file("wide.bin", bytes_of<std::uint32_t>({7, 128'255}));
  EXPECT_EQ(presets::read_token_file(wide, 128'256), (Tokens{7, 128'255}));
}

TEST(token_file, the_index_of_megatron_says_the_type) {
  const TemporaryFolder folder;
  const auto read = [&](char code, const std::string& bytes) {
    static_cast<void>(folder.file("data.idx", index_of_type(code)));
    return presets::read_token_file(folder.file("data.bin", bytes), 40'000);
  };
  EXPECT_EQ(read(4, bytes_of<std::int32_t>({9, 39'999})), (Tokens{9, 39'999}));
  EXPECT_EQ(read(8, bytes_of<std::uint16_t>({9, 39'999})), (Tokens{9, 39'999}));
  EXPECT_EQ(read(5, bytes_of<std::int64_t>({9, 39'999})), (Tokens{9, 39'999}));
  EXPECT_EQ(read(1, std::string{"\x09\xff"}), (Tokens{9, 255}));
}

TEST(token_file, a_token_that_the_model_does_not_know_is_refused_with_its_place) {
  struct Row {
    std::string name, content, index, says;
  };
  const Row rows[] = {
      {"words.txt", "1 2 three", "", "token 3: got \"three\", expected a whole number from 0 to 99"},
      {"large.txt", "1 2 100", "", "token 3: got \"100\""},
      {"large.bin", bytes_of<std::uint16_t>({99, 100}), "", "token 2: got \"100\""},
      {"negative.bin", bytes_of<std::int32_t>({-1}), index_of_type(4), "token 1: got \"-1\""},
      {"odd.bin", "abc", "", "tokens of 2 bytes each"},
      {"floats.bin", "abcd", index_of_type(7), "data set of whole numbers"},
      {"other.bin", "abcd", "no index", "data set of whole numbers"},
  };
  for (const Row& row : rows) {
    const TemporaryFolder folder;
    if (!row.index.empty())
      static_cast<void>(folder.file(row.name.substr(0, row.name.find('.')) + ".idx", row.index));
    try {
      static_cast<void>(presets::read_token_file(folder.file(row.name, row.content), 100));
      ADD_FAILURE() << row.name;
    } catch (const presets::InputError& error) {
      EXPECT_NE(std::string{error.what()}.find(row.says), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(static_cast<void>(presets::read_token_file("/nowhere", 100)), presets::InputError);
}

}  // namespace
}  // namespace hexaplan::tests
