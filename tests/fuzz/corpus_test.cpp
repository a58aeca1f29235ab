// What fuzzing has found, and the seeds that it starts from, are read or refused in every build.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/readers.h"

namespace hexaplan::fuzz {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> corpus_of(const Reader& reader) {
  std::vector<fs::path> paths;
  for (const auto& entry :
       fs::directory_iterator{fs::path{HEXAPLAN_SOURCE_DIR} / "tests/fuzz/corpus" / reader.name})
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::ifstream file{path, std::ios::binary};
    texts.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
  }
  return texts;
}

/// Bytes exchanged, parts repeated or left out, as in a file that something went wrong with.
std::string damaged(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>{0, n - 1}(random);
  };
  for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = below(text.size()),
                      length = 1 + below(std::min<std::size_t>(16, text.size() - at));
    switch (below(4)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text, at, length);
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

class Corpus : public testing::TestWithParam<Reader> {};

TEST_P(Corpus, is_read_or_refused_also_when_damaged) {
  std::mt19937 random{20261128};
  const std::vector<std::string> texts = corpus_of(GetParam());
  ASSERT_FALSE(texts.empty());
  for (const std::string& text : texts) {
    ASSERT_NO_THROW(read_or_refuse(GetParam(), text)) << text.substr(0, 2000);
    for (int i = 0; i < 20; ++i) {
      const std::string other = damaged(text, random);
      ASSERT_NO_THROW(read_or_refuse(GetParam(), other)) << other.substr(0, 2000);
    }
  }
}

/// A seed that is refused leads a fuzzer nowhere.
TEST_P(Corpus, has_a_seed_that_is_read) {
  const std::vector<std::string> texts = corpus_of(GetParam());
  EXPECT_TRUE(std::ranges::any_of(texts, [](const std::string& text) {
    try {
      GetParam().read(text);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }));
}

INSTANTIATE_TEST_SUITE_P(of, Corpus, testing::ValuesIn(readers().begin(), readers().end()),
                         [](const auto& info) { return std::string{info.param.name}; });

}  // namespace
}  // namespace hexaplan::fuzz
