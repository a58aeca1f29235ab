#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace hexaplan::validator {

namespace kernels {
template <class T>
struct KernelTable;
}

/// What the CPU's heavy kernels are compiled for; each runs what those before it do.
enum class InstructionSet : std::uint8_t { Baseline, Avx2, Avx512 };

/// "baseline", "avx2", "avx512": what HEXAPLAN_INSTRUCTIONS takes.
[[nodiscard]] std::string_view name_of(InstructionSet set);

/// Those that this build has and this processor runs, the slowest first.
[[nodiscard]] std::span<const InstructionSet> runnable_instruction_sets();

/// The fastest, or what the environment variable HEXAPLAN_INSTRUCTIONS names. Throws std::runtime_error when
/// that is none that runs here.
[[nodiscard]] InstructionSet chosen_instruction_set();

/// Precondition: `set` is runnable.
template <class T>
[[nodiscard]] kernels::KernelTable<T> kernels_of(InstructionSet set);

}  // namespace hexaplan::validator
