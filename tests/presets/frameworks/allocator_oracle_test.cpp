// PyTorch's own allocator (libc10_cuda.so over a CUDA runtime that only counts; scripts/oracle/allocator) and
// the simulated one, call by call.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "costmodel/memory/caching_allocator.h"
#include "presets/frameworks/allocator_words.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"

namespace hexaplan::presets {
namespace {

using costmodel::AllocationId;
using costmodel::AllocatorSettings;
using costmodel::AllocatorUse;
using costmodel::CachingAllocator;

std::int64_t whole(const JsonValue& value) {
  return *value.get_if<std::int64_t>();
}

/// Makes one call. False: out of memory.
bool call_allocator(const JsonArray& call, CachingAllocator& allocator,
                    std::map<std::int64_t, AllocationId>& alive) {
  const std::string& name = *call[0].get_if<std::string>();
  if (name == "a") {
    const auto id = allocator.allocate(whole(call[2]), static_cast<int>(whole(call[3])));
    if (id) alive[whole(call[1])] = *id;
    return id.has_value();
  }
  if (name == "f") {
    allocator.free(alive.at(whole(call[1])));
  } else if (name == "r") {
    allocator.record_stream(alive.at(whole(call[1])), static_cast<int>(whole(call[2])));
  } else if (name == "c") {
    allocator.complete(static_cast<int>(whole(call[1])));
  } else {
    allocator.empty_cache();
  }
  return true;
}

TEST(allocator_oracle, reserves_what_pytorch_s_own_allocator_reserves_behind_every_call) {
  const std::string path = std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/oracle/allocator.json";
  const JsonValue document = read_json_file(path).root;
  const JsonArray& cases = *document.find("cases")->get_if<JsonArray>();
  ASSERT_GE(cases.size(), 15U);
  for (const JsonValue& row : cases) {
    SCOPED_TRACE(*row.find("name")->get_if<std::string>());
    const std::string& words = *row.find("settings")->get_if<std::string>();
    AllocatorSettings settings = allocator_settings(words.empty() ? "default" : words, "settings");
    if (const std::int64_t capacity = whole(*row.find("capacity")); capacity > 0)
      settings.capacity = capacity;
    CachingAllocator allocator{settings};
    std::map<std::int64_t, AllocationId> alive;
    std::size_t number = 0;
    for (const JsonValue& entry : *row.find("calls")->get_if<JsonArray>()) {
      const JsonArray& call = *entry.get_if<JsonArray>();
      SCOPED_TRACE(number++);
      const bool done = call_allocator(call, allocator, alive);
      const AllocatorUse use = allocator.use();
      const std::int64_t allocated = whole(call[call.size() - 2]);
      ASSERT_EQ(done, allocated >= 0);
      if (done) {
        ASSERT_EQ(use.allocated.value(), static_cast<double>(allocated));
      }
      ASSERT_EQ(use.reserved.value(), static_cast<double>(whole(call[call.size() - 1])));
    }
  }
}

TEST(allocator_words, are_those_of_pytorch_cuda_alloc_conf) {
  const AllocatorSettings s = allocator_settings(
      "expandable_segments:True,max_split_size_mb:128,garbage_collection_threshold:0.8,roundup_power2_"
      "divisions:8",
      "--allocator");
  EXPECT_TRUE(s.expandable_segments);
  EXPECT_EQ(s.max_split_size, std::int64_t{128} << 20);
  EXPECT_EQ(s.garbage_collection_threshold, 0.8);
  EXPECT_EQ(s.roundup_power2_divisions, 8);
  EXPECT_FALSE(allocator_settings("default", "--allocator").expandable_segments);
}

TEST(allocator_words, that_are_wrong_name_word_and_what_is_expected) {
  const auto problem = [](const char* words) {
    try {
      (void)allocator_settings(words, "--allocator");
    } catch (const InputError& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  EXPECT_NE(problem("expandable_segment:True").find("did you mean \"expandable_segments\""),
            std::string::npos);
  EXPECT_NE(problem("expandable_segments:yes").find("True or False"), std::string::npos);
  EXPECT_NE(problem("max_split_size_mb:20").find("above 20"), std::string::npos);
  EXPECT_NE(problem("garbage_collection_threshold:1").find("between 0 and 1"), std::string::npos);
  EXPECT_NE(problem("roundup_power2_divisions:3").find("power of 2"), std::string::npos);
  EXPECT_NE(problem("max_split_size_mb:64,").find("PYTORCH_CUDA_ALLOC_CONF"), std::string::npos);
  EXPECT_NE(problem("backend:cudaMallocAsync").find("PYTORCH_CUDA_ALLOC_CONF"), std::string::npos);
}

}  // namespace
}  // namespace hexaplan::presets
