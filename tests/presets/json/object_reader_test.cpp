#include "presets/json/object_reader.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/presets/json/error_text.h"

namespace hexaplan::presets {
namespace {

using costmodel::Bytes;
using costmodel::BytesPerSecond;
using costmodel::FlopsPerSecond;
using costmodel::Seconds;

enum class Colour { Red, Green };
constexpr Named<Colour> kColours[] = {{"red", Colour::Red}, {"green", Colour::Green}};

TEST(object_reader, reads_each_type) {
  const JsonDocument document =
      parse_json(R"({"tp": 8, "ratio": 0.5, "count": 2, "sp": true, "name": "x", "colour": "green",
    "memory": "80 GiB", "link": "3.35 TB/s", "peak": "989 TFLOP/s", "latency": "10 us",
    "inner": {"deep": 1}, "list": [1, 2.5], "ids": [3, 4]})",
                 "run.json");
  ObjectReader reader{document};
  EXPECT_EQ(reader.required("tp").small_integer(), 8);
  EXPECT_EQ(reader.required("ratio").number(), 0.5);
  EXPECT_EQ(reader.required("count").number(), 2.0);
  EXPECT_TRUE(reader.required("sp").boolean());
  EXPECT_EQ(reader.required("name").text(), "x");
  EXPECT_EQ(reader.required("colour").choice(kColours), Colour::Green);
  EXPECT_EQ(reader.required("memory").bytes(), Bytes{80.0 * 1024 * 1024 * 1024});
  EXPECT_EQ(reader.required("link").bandwidth(), BytesPerSecond{3.35e12});
  EXPECT_EQ(reader.required("peak").flops_rate(), FlopsPerSecond{989e12});
  EXPECT_DOUBLE_EQ(reader.required("latency").seconds().value(), 10e-6);
  EXPECT_EQ(reader.required("inner").object().required("deep").integer(), 1);
  EXPECT_EQ(reader.required("list").numbers(), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(reader.required("ids").integers(), (std::vector<std::int64_t>{3, 4}));
  EXPECT_FALSE(reader.optional("absent").has_value());
  EXPECT_NO_THROW(reader.finish());
}

struct Misread {
  std::string name;
  std::string json;
  std::function<void(ObjectReader&)> read;
  std::string error;
};
void PrintTo(const Misread& row, std::ostream* out) {
  *out << row.name;
}

class Misreading : public testing::TestWithParam<Misread> {};
TEST_P(Misreading, is_one_clear_line) {
  EXPECT_EQ(error_text([] {
              const JsonDocument document = parse_json(GetParam().json, "run.json");
              ObjectReader reader{document};
              GetParam().read(reader);
              reader.finish();
            }),
            GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    table, Misreading,
    testing::Values(
        Misread{"string_for_number", R"({"tp": "eight"})",
                [](auto& r) { (void)r.required("tp").integer({1}); },
                "run.json: /tp: got \"eight\", expected a whole number >= 1"},
        Misread{"quoted_number", R"({"tp": "8"})", [](auto& r) { (void)r.required("tp").integer({1}); },
                "run.json: /tp: got \"8\", expected a whole number >= 1; write 8 without quotes"},
        Misread{"fraction", R"({"tp": 8.0})", [](auto& r) { (void)r.required("tp").integer(); },
                "run.json: /tp: got 8.0, expected a whole number"},
        Misread{"below", R"({"tp": 0})", [](auto& r) { (void)r.required("tp").integer({1}); },
                "run.json: /tp: got 0, expected a whole number >= 1"},
        Misread{"above", R"({"tp": 65})",
                [](auto& r) {
                  (void)r.required("tp").integer({1, 64});
                },
                "run.json: /tp: got 65, expected a whole number <= 64"},
        Misread{"beyond_int", R"({"tp": 4294967296})",
                [](auto& r) { (void)r.required("tp").small_integer({1}); },
                "run.json: /tp: got 4294967296, expected a whole number <= 2147483647"},
        Misread{"share", R"({"x": 1.5})", [](auto& r) { (void)r.required("x").number(kShare); },
                "run.json: /x: got 1.5, expected a number <= 1"},
        Misread{"number_for_bool", R"({"sp": 1})", [](auto& r) { (void)r.required("sp").boolean(); },
                "run.json: /sp: got 1, expected true or false"},
        Misread{"null", R"({"sp": null})", [](auto& r) { (void)r.optional("sp")->boolean(); },
                "run.json: /sp: got null, expected true or false"},
        Misread{"object_for_text", R"({"a": {}})", [](auto& r) { (void)r.required("a").text(); },
                "run.json: /a: got an object, expected a string"},
        Misread{"missing", R"({"a": 1})", [](auto& r) { (void)r.required("layout"); },
                "run.json: /layout: got nothing, expected this key"},
        Misread{"misspelt_required", R"({"layuot": 1})", [](auto& r) { (void)r.required("layout"); },
                "run.json: /layout: got nothing, expected this key; is \"layuot\" a misspelling of it?"},
        Misread{"unknown_key", R"({"tensor_paralel": 1})",
                [](auto& r) { r.skip("name"), r.skip("tensor_parallel"); },
                "run.json: /tensor_paralel: got an unknown key, expected one of name, tensor_parallel; did "
                "you mean "
                "\"tensor_parallel\"?"},
        Misread{"choice", R"({"c": "gren"})", [](auto& r) { (void)r.required("c").choice(kColours); },
                "run.json: /c: got \"gren\", expected one of red, green; did you mean \"green\"?"},
        Misread{"unit_missing", R"({"m": "80"})", [](auto& r) { (void)r.required("m").bytes(); },
                "run.json: /m: got \"80\", expected a size with its unit, such as \"80 GiB\""},
        Misread{"number_for_size", R"({"m": 80})", [](auto& r) { (void)r.required("m").bytes(); },
                "run.json: /m: got 80, expected a size with its unit, such as \"80 GiB\""},
        Misread{"element", R"({"a": {"b/c": [1, "x"]}})",
                [](auto& r) { (void)r.required("a").object().required("b/c").numbers(); },
                "run.json: /a/b~1c/1: got \"x\", expected a number"},
        Misread{"own_rule", R"({"a": 3})", [](auto& r) { throw r.error("a", "an even number"); },
                "run.json: /a: got 3, expected an even number"}),
    [](const auto& row) { return row.param.name; });

TEST(object_reader, wants_an_object_at_the_root) {
  const JsonDocument document = parse_json("[1]", "run.json");
  EXPECT_EQ(error_text([&] { ObjectReader{document}; }), "run.json: got an array, expected an object");
}

TEST(object_reader, is_lenient_with_foreign_files_where_it_is_safe) {
  const JsonDocument document =
      parse_json(R"({"hidden": 4096.0, "window": null, "half": 0.5, "extra": {}})", "config.json");
  ObjectReader reader{document, Reading::Lenient};
  EXPECT_EQ(reader.required("hidden").integer(), 4096);
  EXPECT_FALSE(reader.optional("window").has_value());
  EXPECT_EQ(error_text([&] { (void)reader.required("half").integer(); }),
            "config.json: /half: got 0.5, expected a whole number");
  EXPECT_NO_THROW(reader.finish());
}

TEST(object_reader, hands_out_maps_whose_keys_are_data) {
  const JsonDocument document = parse_json(R"({"b": 1, "a": 2})", "run.json");
  ObjectReader reader{document};
  const auto members = reader.members();
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].first, "b");
  EXPECT_EQ(members[1].second.integer(), 2);
  EXPECT_NO_THROW(reader.finish());
}

}  // namespace
}  // namespace hexaplan::presets
