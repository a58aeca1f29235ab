#include "validator/executor/memory/file_arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::validator {
namespace {

TEST(file_arena, keeps_what_is_written_until_it_is_given_back) {
  FileArena arena;
  std::byte* const first = arena.take(5000);
  std::byte* const second = arena.take(1);
  ASSERT_NE(first, second);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);  // NOLINT(*-reinterpret-cast)
  std::memset(first, 7, 5000);
  std::memset(second, 9, 1);
  EXPECT_NO_THROW(arena.check());
  arena.give_back(second, 1);
  EXPECT_EQ(first[4999], std::byte{7});
  EXPECT_NO_THROW(arena.check());
}

TEST(file_arena, is_the_memory_of_a_device) {
  const auto device = make_cpu_device(Element::F32, {.arena = std::make_unique<FileArena>()});
  const Tensor values =
      device->allocate({"weight", costmodel::TensorKind::Parameter, costmodel::DType::Fp32}, 2, 3);
  device->fill(values, 1.5);
  double sum[6] = {};
  device->download(std::span<double>{sum}, values);
  EXPECT_EQ(sum[5], 1.5);
  EXPECT_EQ(device->memory().live_bytes(), 24);
}

TEST(file_arena, says_where_no_file_can_be_made) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", "/proc", 1);  // a folder where nobody makes files
  try {
    const FileArena arena;
    ADD_FAILURE() << "a file in /proc";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string{error.what()}.find("/proc"), std::string::npos) << error.what();
  }
  before != nullptr ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}

}  // namespace
}  // namespace hexaplan::validator
