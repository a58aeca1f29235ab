#include "presets/json/read_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "presets/json/read_text_file.h"
#include "tests/presets/json/error_text.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

std::string parse_error(std::string_view text) {
  return error_text([&] { (void)parse_json(text, "a.json"); });
}

TEST(parse_json, keeps_order_and_tells_whole_numbers_from_fractions) {
  const JsonDocument document = parse_json(R"({"z": 1, "a": 1.0, "list": [true, null, "x"]})", "a.json");
  EXPECT_EQ(document.root,
            (JsonValue{JsonObject{{"z", 1}, {"a", 1.0}, {"list", JsonArray{true, JsonValue{}, "x"}}}}));
  EXPECT_NE(*document.root.find("z"), *document.root.find("a"));
  EXPECT_EQ(document.root.find("none"), nullptr);
}

TEST(parse_json, reads_the_largest_whole_numbers_exactly_and_larger_ones_as_reals) {
  const JsonDocument document =
      parse_json("[9223372036854775807, -9223372036854775808, 9223372036854775808]", "a");
  const JsonArray& list = *document.root.get_if<JsonArray>();
  EXPECT_EQ(*list[0].get_if<std::int64_t>(), 9223372036854775807);
  EXPECT_EQ(*list[1].get_if<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(*list[2].get_if<double>(), 9223372036854775808.0);
}

TEST(parse_json, skips_a_byte_order_mark) {
  EXPECT_EQ(parse_json("\xEF\xBB\xBF[1]", "a").root, JsonValue{JsonArray{1}});
}

struct BadText {
  std::string name;
  std::string text;
  std::string error;
};
void PrintTo(const BadText& row, std::ostream* out) {
  *out << row.name;
}
class BadJson : public testing::TestWithParam<BadText> {};
TEST_P(BadJson, is_diagnosed) {
  EXPECT_EQ(parse_error(GetParam().text), GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    table, BadJson,
    testing::Values(
        BadText{"empty", "",
                "a.json:1:1: got the end of the text, expected JSON; unexpected end of input; expected "
                "'[', '{', or a literal"},
        BadText{"cut_short", "{\"a\": [1,\n 2",
                "a.json:2:3: got the end of the text, expected JSON; unexpected end of "
                "input; expected ']'"},
        BadText{"trailing_comma", "{\"a\": 1,\n}",
                "a.json:2:1: got \"}\", expected JSON; remove the comma before it"},
        BadText{"nan", "{\"a\": NaN}",
                "a.json:1:7: got \"N\", expected JSON; JSON has no NaN; write a number or null"},
        BadText{"minus_infinity", "[-Infinity]",
                "a.json:1:2: got \"-I\", expected JSON; JSON has no Infinity; write a number or null"},
        BadText{"comment", "[1, // one\n2]",
                "a.json:1:5: got \"/\", expected JSON; JSON has no comments; remove it"},
        BadText{"single_quotes", "{'a': 1}",
                "a.json:1:2: got \"'\", expected JSON; strings take double quotes"},
        BadText{"python_true", "[True]", "a.json:1:2: got \"T\", expected JSON; write true"},
        BadText{"two_documents", "{} {}",
                "a.json:1:4: got \"{\", expected JSON; unexpected '{'; expected end of input"},
        BadText{"overflow", "[1e999]",
                "a.json:1:2: got 1e999, expected a number between -1.8e308 and 1.8e308"},
        BadText{"duplicate_key", R"({"a": {"tp": 1, "tp": 2}})",
                "a.json: /a/tp: got the key twice, expected each key once"},
        BadText{"duplicate_key_in_a_list", R"([0, {"x": 1, "y": 2, "x": 3}])",
                "a.json: /1/x: got the key twice, expected each key once"},
        BadText{"invalid_utf8", "[\"\xff\"]",
                "a.json:1:3: got \"\\xFF\", expected JSON; invalid string: ill-formed UTF-8 byte"}),
    [](const auto& row) { return row.param.name; });

TEST(parse_json, takes_64_levels_and_not_65) {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_EQ(parse_error(nested(64)), "no error");
  EXPECT_THAT(parse_error(nested(65)), testing::StartsWith("a.json: /0/0/0"));
  EXPECT_THAT(parse_error(nested(65)), testing::EndsWith("got deeper nesting, expected at most 64 levels"));
  EXPECT_THAT(parse_error(std::string(1'000'000, '[')), testing::EndsWith("at most 64 levels"));
}

TEST(parse_json, takes_a_bounded_number_of_values) {
  std::string text = "[0";
  for (std::int64_t i = 0; i < kMostJsonValues; ++i) {
    text += ",0";
  }
  EXPECT_EQ(parse_error(text + "]"), "a.json: got more values than that, expected at most 1000000 values");
}

TEST(to_text, reads_back_as_the_same_value) {
  const JsonValue value{JsonObject{{"n", 1},
                                   {"x", 0.1},
                                   {"one", 1.0},
                                   {"text", "a \"b\"\n\x01 µ"},
                                   {"none", JsonValue{}},
                                   {"grid", JsonArray{JsonArray{1, 2}, JsonArray{}}},
                                   {"empty", JsonObject{}}}};
  EXPECT_EQ(parse_json(to_text(value), "a").root, value);
  EXPECT_EQ(parse_json(to_text(value, JsonStyle::Compact), "a").root, value);
}

TEST(to_text, is_json_whatever_the_value_holds) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(to_text(JsonArray{std::nan(""), -std::nan(""), kInfinity, -kInfinity}),
            "[null, null, null, null]");
  EXPECT_EQ(to_text(JsonArray{1e308, -1.0e308, 5e-324, 1e16, -0.0}),
            "[1e+308, -1e+308, 5e-324, 1e+16, -0.0]");
  // The Unicode Standard, table 3-7: cut off, overlong, surrogate, beyond the last; each byte becomes U+FFFD.
  const std::pair<const char*, int> rows[] = {{"a\xC3", 1},        {"\xE0\x80\x80", 3},
                                              {"\xED\xA0\x80", 3}, {"\xF4\x90\x80\x80", 4},
                                              {"caf\xE9 1", 1},    {"\xFF", 1}};
  for (const auto& [text, broken] : rows) {
    const std::string written = to_text(JsonValue{text});
    int replaced = 0;
    for (std::size_t at = written.find("\xEF\xBF\xBD"); at != std::string::npos;
         at = written.find("\xEF\xBF\xBD", at + 3))
      ++replaced;
    EXPECT_EQ(replaced, broken) << written;
    EXPECT_NO_THROW((void)parse_json(written, "a")) << written;
  }
  EXPECT_EQ(to_text(JsonValue{"\u00e9\u20ac\U0001F600"}), "\"\u00e9\u20ac\U0001F600\"");
}

TEST(to_text, is_indented_with_plain_lists_on_one_line) {
  EXPECT_EQ(to_text(JsonObject{{"a", JsonArray{1, 2.5}}, {"b", JsonObject{{"c", true}}}}),
            "{\n  \"a\": [1, 2.5],\n  \"b\": {\n    \"c\": true\n  }\n}");
  EXPECT_EQ(to_text(JsonObject{{"a", JsonArray{1, 2}}}, JsonStyle::Compact), "{\"a\":[1,2]}");
}

class ReadFile : public testing::Test {
 protected:
  [[nodiscard]] std::string error_of(const std::filesystem::path& path) const {
    std::string text = error_text([&] { (void)read_json_file(path); });
    const std::string prefix = folder_.string() + "/";
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  }
  tests::TemporaryFolder own_;
  std::filesystem::path folder_ = own_.path();
};

TEST_F(ReadFile, names_the_file_in_the_document_and_in_errors) {
  std::ofstream{folder_ / "good.json"} << "[1]";
  std::ofstream{folder_ / "bad.json"} << "[1";
  EXPECT_EQ(read_json_file(folder_ / "good.json").root, JsonValue{JsonArray{1}});
  EXPECT_EQ(error_of(folder_ / "bad.json"),
            "bad.json:1:3: got the end of the text, expected JSON; unexpected end of input; expected ']'");
}

TEST_F(ReadFile, takes_regular_files_only) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(folder_ / "folder");
  EXPECT_EQ(error_of(folder_ / "none.json"), "none.json: cannot be read: No such file or directory");
  EXPECT_EQ(error_of(folder_ / "folder"), "folder: got a directory, expected a regular file");
  EXPECT_EQ(error_of(folder_ / "pipe"), "pipe: got a pipe, expected a regular file");
  EXPECT_EQ(error_of("/dev/zero"), "/dev/zero: got a device, expected a regular file");
}

TEST_F(ReadFile, is_bounded_at_exactly_the_limit) {
  std::ofstream{folder_ / "ten"} << "0123456789";
  EXPECT_EQ(read_text_file(folder_ / "ten", 10), "0123456789");
  EXPECT_THROW((void)read_text_file(folder_ / "ten", 9), InputError);
}

}  // namespace
}  // namespace hexaplan::presets
