#include <gtest/gtest.h>

#include <random>

#include "presets/clusters/cluster_preset.h"
#include "presets/gpus/gpu_preset.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"

namespace hexaplan::presets {
namespace {

/// A copy of `text` with one to four bytes replaced, removed, doubled or inserted.
std::string mutated(std::string text, std::string_view alphabet, std::mt19937& random) {
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>{0, n - 1}(random);
  };
  for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = below(text.size());
    const char c = alphabet[below(alphabet.size())];
    switch (below(4)) {
      case 0:
        text[at] = c;
        break;
      case 1:
        text.erase(at, 1 + below(4));
        break;
      case 2:
        text.insert(at, text.substr(at, 1 + below(8)));
        break;
      default:
        text.insert(at, 1, c);
    }
  }
  return text;
}

bool is_one_line(std::string_view text) {
  return !text.empty() && text.find('\n') == std::string_view::npos;
}

TEST(mutations, of_json_give_a_value_or_one_clear_line) {
  const std::string seed =
      R"({"a": [1, -2.5e3, "x\u00e9µ", true, null], "b": {"c": {"d": []}, "e": "80 GiB"}})";
  const std::string alphabet = std::string{"{}[]\",:0123456789eE+-.tfn\\/ \n\xff\xc3\x80NaI"} + '\0';
  std::mt19937 random{20260101};
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    try {
      const JsonDocument document = parse_json(mutated(seed, alphabet, random), "m.json");
      // Whatever was accepted is written and read as the same.
      EXPECT_EQ(parse_json(to_text(document.root), "m.json").root, document.root);
      ++read;
    } catch (const InputError& error) {
      EXPECT_TRUE(is_one_line(error.what())) << error.what();
    }
  }
  EXPECT_GT(read, 500);  // the edits are small enough to leave some documents whole
}

TEST(mutations, of_a_cluster_give_a_cluster_or_one_clear_line) {
  std::mt19937 random{20260102};
  int read = 0;
  for (int i = 0; i < 500; ++i) {
    const char* seeds[] = {"16x8xH200+ib400", "72xGB200", "eos+efa3200/node", "64xA100-80GB",
                           "64xH100+tier:pod:32:rail+tier:core:x7:2us"};
    const std::string text = mutated(seeds[i % 5], "0123456789xX+/-:ibroce .HAG\xff", random);
    try {
      const costmodel::ClusterSpec cluster = parse_cluster(text);
      EXPECT_EQ(cluster.levels.back().ranks, cluster.gpus) << text;
      EXPECT_LE(cluster.levels.size(), costmodel::kMostLevels) << text;
      EXPECT_GT(cluster.levels.back().bandwidth.value(), 0) << text;
      ++read;
    } catch (const InputError& error) {
      EXPECT_TRUE(is_one_line(error.what())) << error.what();
    }
  }
  EXPECT_GT(read, 10);
}

}  // namespace
}  // namespace hexaplan::presets
