#include "validator/executor/device/cpu/instruction_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "validator/executor/device/cpu/kernels/kernel_table.h"

namespace hexaplan::validator {

#ifdef HEXAPLAN_X86_KERNELS
namespace kernels {
namespace avx2 {
template <class T>
KernelTable<T> kernel_table();
}
namespace avx512 {
template <class T>
KernelTable<T> kernel_table();
}
}  // namespace kernels
#endif

namespace {

constexpr const char* kVariable = "HEXAPLAN_INSTRUCTIONS";

struct Row {
  InstructionSet set;
  bool (*runs)();
  kernels::KernelTable<double> (*in_f64)();
  kernels::KernelTable<float> (*in_f32)();
};
// The processor is asked for every extension that CMakeLists.txt compiles with.
constexpr Row kRows[] = {
    {InstructionSet::Baseline, [] { return true; }, kernels::baseline::kernel_table<double>,
     kernels::baseline::kernel_table<float>},
#ifdef HEXAPLAN_X86_KERNELS
    {InstructionSet::Avx2,
     [] { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; },
     kernels::avx2::kernel_table<double>, kernels::avx2::kernel_table<float>},
    {InstructionSet::Avx512,
     [] {
       return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("avx512f") != 0 &&
              __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
              __builtin_cpu_supports("fma") != 0;
     },
     kernels::avx512::kernel_table<double>, kernels::avx512::kernel_table<float>},
#endif
};

constexpr std::array<std::string_view, 3> kNames{"baseline", "avx2", "avx512"};

const Row& row_of(InstructionSet set) {
  return *std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.set == set; });
}

}  // namespace

std::string_view name_of(InstructionSet set) {
  return kNames.at(static_cast<std::size_t>(set));
}

std::span<const InstructionSet> runnable_instruction_sets() {
  static const std::vector<InstructionSet> sets = [] {
    std::vector<InstructionSet> runnable;
    for (const Row& row : kRows) {
      if (row.runs()) runnable.push_back(row.set);
    }
    return runnable;
  }();
  return sets;
}

InstructionSet chosen_instruction_set() {
  const std::span<const InstructionSet> runnable = runnable_instruction_sets();
  const char* const asked = std::getenv(kVariable);
  if (asked == nullptr || *asked == '\0') return runnable.back();
  std::vector<std::string_view> names;
  for (const InstructionSet set : runnable) {
    if (name_of(set) == asked) return set;
    names.push_back(name_of(set));
  }
  throw std::runtime_error{fmt::format("{}: got \"{}\", expected what this build and processor have: {}",
                                       kVariable, asked, fmt::join(names, " or "))};
}

template <>
kernels::KernelTable<double> kernels_of(InstructionSet set) {
  return row_of(set).in_f64();
}
template <>
kernels::KernelTable<float> kernels_of(InstructionSet set) {
  return row_of(set).in_f32();
}

}  // namespace hexaplan::validator
