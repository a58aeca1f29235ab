#include "presets/frameworks/framework_preset.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include "presets/catalog/catalog.h"
#include "tests/presets/json/error_text.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

namespace fs = std::filesystem;
using costmodel::DType;
using costmodel::Elementwise;
using costmodel::FrameworkProfile;
using costmodel::Saved;
using costmodel::SavedRule;

/// Converts to anything: counts how many members an aggregate has.
struct Anything {
  template <class T>
  operator T() const;
};
template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires {
    T{((void)I, Anything{})...};
  };
}
template <class T, std::size_t N = 1>
constexpr std::size_t member_count() {
  if constexpr (takes<T>(std::make_index_sequence<N>{}) && !takes<T>(std::make_index_sequence<N + 1>{})) {
    return N;
  } else {
    return member_count<T, N + 1>();
  }
}

SavedRule saved(const FrameworkProfile& profile, Saved which) {
  return profile.saved[static_cast<std::size_t>(which)];
}

/// A folder of profiles of the test's own.
class Frameworks : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "frameworks");
    ::setenv("HEXAPLAN_PRESETS", root_.c_str(), 1);
  }
  void TearDown() override { ::unsetenv("HEXAPLAN_PRESETS"); }
  void write(const std::string& name, const std::string& json) const {
    std::ofstream{root_ / "frameworks" / (name + ".json")} << json;
  }
  [[nodiscard]] std::string error_of(const std::string& name) const {
    const std::string text = error_text([&] { (void)find_framework(name); });
    const std::string folder = (root_ / "frameworks").string() + "/";
    return text.starts_with(folder) ? text.substr(folder.size()) : text;
  }
  tests::TemporaryFolder own_;
  fs::path root_ = own_.path();
};

TEST_F(Frameworks, take_what_they_leave_out_from_the_defaults) {
  write("plain", R"({"description": "nothing said"})");
  FrameworkProfile defaults;
  defaults.name = "plain";
  EXPECT_EQ(to_json(find_framework("plain")), to_json(defaults));
}

TEST_F(Frameworks, read_every_type_of_field) {
  write("all",
        R"({"description": "x", "gradient_dtype": "bf16", "master_parameters": false, "vocab_multiple": 64,
    "extra_gradient_copies": 1, "kernel_launch": "4 us", "context": "0.5 GiB", "gradient_overlap": "none",
    "even_split": "compute_cost", "saved": {"norm_input": {"compute": 2, "fp32": 1}},
    "elementwise": {"norm": {"forward_passes": 2, "backward_kernels": 3}}})");
  const FrameworkProfile profile = find_framework("all");
  EXPECT_EQ(profile.name, "all");
  EXPECT_EQ(profile.gradient_dtype, DType::Bf16);
  EXPECT_FALSE(profile.master_parameters);
  EXPECT_EQ(profile.vocab_multiple, 64);
  EXPECT_EQ(profile.extra_gradient_copies, 1);
  EXPECT_DOUBLE_EQ(profile.kernel_launch.value(), 4e-6);
  EXPECT_EQ(profile.context.value(), 536870912.0);
  EXPECT_EQ(profile.gradient_overlap, costmodel::GradientOverlap::None);
  EXPECT_EQ(profile.even_split, costmodel::StageSplit::ComputeCost);
  EXPECT_EQ(saved(profile, Saved::NormInput), (SavedRule{.compute = 2, .fp32 = 1}));
  EXPECT_EQ(saved(profile, Saved::NormOutput), SavedRule{});
  const auto& norm = profile.elementwise[static_cast<std::size_t>(Elementwise::Norm)];
  EXPECT_EQ(norm.forward_passes, 2);
  EXPECT_EQ(norm.backward_kernels, 3);
  EXPECT_EQ(norm.forward_kernels, 0);
}

TEST_F(Frameworks, inherit_field_by_field_and_rule_by_rule) {
  write("base", R"({"description": "b", "gradient_dtype": "bf16", "vocab_multiple": 128,
    "saved": {"norm_input": {"compute": 1, "fp32": 1}, "query": {"compute": 1}}, "sources": {"vocab_multiple": "paper",
    "gradient_dtype": "code"}})");
  write(
      "middle",
      R"({"description": "m", "inherits": "base", "vocab_multiple": 64, "saved": {"norm_input": {"byte": 1}}})");
  write("leaf", R"({"description": "l", "inherits": "middle", "sources": {"saved.query": "measured"}})");
  const FrameworkPreset leaf = find_framework_preset("leaf");
  EXPECT_EQ(leaf.profile.name, "leaf");
  EXPECT_EQ(leaf.description, "l");
  EXPECT_EQ(leaf.inherits, "middle");
  EXPECT_EQ(leaf.profile.gradient_dtype, DType::Bf16);
  EXPECT_EQ(leaf.profile.vocab_multiple, 64);
  EXPECT_EQ(saved(leaf.profile, Saved::NormInput), (SavedRule{.byte = 1}));
  EXPECT_EQ(saved(leaf.profile, Saved::Query), (SavedRule{.compute = 1}));
  // The base's source does not speak of the middle's vocab_multiple.
  EXPECT_THAT(leaf.sources, testing::ElementsAre(testing::Pair("gradient_dtype", "code"),
                                                 testing::Pair("saved.query", "measured")));
}

TEST_F(Frameworks, a_rule_for_every_case_ends_what_was_inherited_for_some) {
  write("eager", R"({"description": "e", "elementwise_when": [{"when": ["not_compiled", "rms_norms"],
    "elementwise": {"norm": {"forward_passes": 18}, "activation": {"forward_passes": 2}}}]})");
  write("fused",
        R"({"description": "f", "inherits": "eager", "elementwise": {"norm": {"forward_passes": 2}}})");
  const std::vector<costmodel::ElementwiseOverride> inherited = find_framework("eager").elementwise_when;
  ASSERT_EQ(inherited.size(), 2U);
  EXPECT_EQ(inherited[0].step, Elementwise::Norm);
  EXPECT_EQ(inherited[0].rule.forward_passes, 18);
  const std::vector<costmodel::ElementwiseOverride> left = find_framework("fused").elementwise_when;
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].step, Elementwise::Activation);
  EXPECT_EQ(left[0].cases, inherited[1].cases);
}

TEST_F(Frameworks, must_not_inherit_in_a_circle) {
  write("a", R"({"description": "a", "inherits": "b"})");
  write("b", R"({"description": "b", "inherits": "c"})");
  write("c", R"({"description": "c", "inherits": "a"})");
  write("self", R"({"description": "s", "inherits": "self"})");
  EXPECT_EQ(
      error_of("a"),
      "c.json: /inherits: got \"a\", expected a profile that does not come back to a; a -> b -> c -> a");
  EXPECT_EQ(
      error_of("self"),
      "self.json: /inherits: got \"self\", expected a profile that does not come back to self; self -> self");
}

TEST_F(Frameworks, name_what_they_do_not_understand) {
  write("key", R"({"description": "", "gradient_dtyp": "bf16"})");
  write("dtype", R"({"description": "", "gradient_dtype": "bf61"})");
  write("rule", R"({"description": "", "saved": {"norm_imput": {}}})");
  write("part", R"({"description": "", "saved": {"norm_input": {"fp23": 1}}})");
  write("negative", R"({"description": "", "extra_gradient_copies": -1})");
  write("share", R"({"description": "", "tensor_overlap": 1.5})");
  write("unit", R"({"description": "", "kernel_launch": 4})");
  write("source", R"({"description": "", "sources": {"vocab_mutiple": "x"}})");
  write("parent", R"({"description": "", "inherits": "unt"})");
  write("other-name", R"({"description": "", "name": "something"})");
  write("unit-test", R"({"description": ""})");
  EXPECT_THAT(error_of("key"),
              testing::StartsWith("key.json: /gradient_dtyp: got an unknown key, expected one of "));
  EXPECT_THAT(error_of("key"), testing::EndsWith("; did you mean \"gradient_dtype\"?"));
  EXPECT_EQ(error_of("dtype"),
            "dtype.json: /gradient_dtype: got \"bf61\", expected one of fp64, fp32, bf16, fp16, fp8, fp4, "
            "int64, int32, "
            "int8, nf4, bool; did you mean \"bf16\"?");
  EXPECT_THAT(error_of("rule"), testing::EndsWith("did you mean \"norm_input\"?"));
  EXPECT_EQ(error_of("part"),
            "part.json: /saved/norm_input/fp23: got an unknown key, expected one of compute, fp32, byte; did "
            "you mean "
            "\"fp32\"?");
  EXPECT_EQ(error_of("negative"), "negative.json: /extra_gradient_copies: got -1, expected a number >= 0");
  EXPECT_EQ(error_of("share"), "share.json: /tensor_overlap: got 1.5, expected a number <= 1");
  EXPECT_EQ(error_of("unit"),
            "unit.json: /kernel_launch: got 4, expected a time with its unit, such as \"10 us\"");
  EXPECT_EQ(error_of("source"),
            "source.json: /sources/vocab_mutiple: got \"x\", expected the source of a field of the profile; "
            "did you mean "
            "\"vocab_multiple\"?");
  EXPECT_THAT(error_of("parent"),
              testing::StartsWith("parent.json: /inherits: got \"unt\", expected one of "));
  EXPECT_EQ(error_of("other-name"),
            "other-name.json: /name: got \"something\", expected \"other-name\", the name of the file");
}

TEST_F(Frameworks, read_back_what_was_written) {
  for (const std::string& name : list_presets(PresetKind::Framework)) {
    FrameworkProfile profile = find_framework(name);
    JsonValue json = to_json(profile);
    json.get_if<JsonObject>()->emplace_back("description", "copy");
    write(name, to_text(json));  // the copy in the test's folder comes first
    EXPECT_EQ(to_json(find_framework(name)), to_json(profile)) << name;
  }
}

TEST(framework_fields, are_all_the_members_of_the_profile) {
  // name, abilities, saved, elementwise and the rules by case of both are read by themselves. Fails when a
  // member has no line in kFields.
  EXPECT_EQ(framework_fields().size() + 6, member_count<FrameworkProfile>());
}

TEST(framework_presets, of_jax_and_the_executor_have_allocators_of_their_own) {
  for (const char* name : {"maxtext", "paxml", "hexaplan"})
    EXPECT_FALSE(find_framework(name).caching_allocator) << name;
  for (const char* name : {"megatron", "fsdp2", "deepspeed", "hf-eager", "nanotron"})
    EXPECT_TRUE(find_framework(name).caching_allocator) << name;
}

TEST(framework_presets, of_a_version_are_the_framework_s_but_for_what_it_says) {
  const FrameworkProfile framework = find_framework("hf-eager");
  FrameworkProfile version = find_framework("hf-eager@transformers-4.44");
  EXPECT_EQ(without_version(version.name), "hf-eager");
  EXPECT_TRUE(is_version_of(version, "hf-eager"));
  EXPECT_TRUE(is_version_of(framework, "hf-eager"));
  EXPECT_FALSE(is_version_of(find_framework("hf-fsdp2"), "hf-eager"));
  EXPECT_NE(version.saved_when, framework.saved_when);
  version.name = framework.name;
  version.saved_when = framework.saved_when;
  version.elementwise_when = framework.elementwise_when;
  EXPECT_EQ(to_json(version), to_json(framework));
}

TEST(framework_presets, recompute_as_the_frameworks_do) {
  const auto has = [](const char* name, costmodel::RecomputeMode mode) {
    return (find_framework(name).abilities.recompute >> static_cast<unsigned>(mode) & 1) != 0;
  };
  for (const char* name : {"megatron", "megatron-2022", "fsdp2", "nanotron"})
    EXPECT_FALSE(find_framework(name).abilities.recompute_per_stage) << name;
  for (const char* name : {"hexaplan", "other"})
    EXPECT_TRUE(find_framework(name).abilities.recompute_per_stage) << name;
  EXPECT_TRUE(has("megatron", costmodel::RecomputeMode::Layers));
  for (const char* name : {"fsdp1", "fsdp2", "nanotron", "hf-fsdp2", "hf-deepspeed", "deepspeed"}) {
    EXPECT_FALSE(has(name, costmodel::RecomputeMode::Layers)) << name;
    EXPECT_TRUE(find_framework(name).abilities.recompute_modules.empty()) << name;
  }
  for (const std::uint16_t modules : find_framework("megatron").abilities.recompute_modules)
    EXPECT_EQ(modules & costmodel::kRecomputeActivation, 0);  // Megatron-Core has no act
}

TEST(framework_presets, are_all_readable_and_keep_something_for_backward) {
  const std::vector<std::string> names = list_presets(PresetKind::Framework);
  for (const char* name : {"megatron", "fsdp2", "fsdp1", "deepspeed", "nanotron", "hf-eager", "hexaplan"}) {
    EXPECT_THAT(names, testing::Contains(name));
  }
  for (const std::string& name : names) {
    const FrameworkPreset preset = find_framework_preset(name);
    EXPECT_FALSE(preset.description.empty()) << name;
    EXPECT_GT(saved(preset.profile, Saved::NormInput).compute + saved(preset.profile, Saved::NormInput).fp32,
              0)
        << name;
  }
}

}  // namespace
}  // namespace hexaplan::presets
