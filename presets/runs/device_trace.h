#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "costmodel/program/collective_kind.h"

namespace hexaplan::presets {

// What a profiler recorded of one device, whichever wrote it. Times are microseconds from an instant of the
// file's own.

/// What a kernel, a copy or, in a trace without a device, an operator of the CPU does.
enum class KernelKind : std::uint8_t {
  Gemm,
  Attention,
  Norm,
  Elementwise,
  Optimizer,
  Collective,
  Copy,
  Other,
};
inline constexpr std::size_t kKernelKinds = 8;
/// By KernelKind: "gemm", "attention", ….
[[nodiscard]] std::string_view name_of(KernelKind kind);
/// What a kernel of this name does, by the words that the libraries put into their names.
[[nodiscard]] KernelKind kind_of_kernel(std::string_view name);
/// The same of an operator: "aten::mm".
[[nodiscard]] KernelKind kind_of_operator(std::string_view name);

/// One thing that ran on the device.
struct TraceKernel {
  double start = 0, duration = 0;
  KernelKind kind = KernelKind::Other;
  std::int32_t message = -1;    // of a collective: index into `messages`
  std::int32_t name = -1;       // index into `names`; -1: more are different than are kept
  std::int32_t stream = 0;      // index into `streams`
  std::int64_t operation = -1;  // external id of the operator that launched it
};

/// A message as PyTorch's `record_param_comms` or NCCL's own ranges describe it; the same for all that are
/// alike.
struct TraceMessage {
  std::string kind;   // "allreduce", "_allgather_base", …; of the kernel's name where nothing else is said
  std::string group;  // name of the process group or communicator
  std::int64_t ranks = 0;
  double bytes = 0;  // of the full tensor: nccl-tests' convention; 0: not said
  friend bool operator<(const TraceMessage& a, const TraceMessage& b) {
    return std::tie(a.kind, a.group, a.ranks, a.bytes) < std::tie(b.kind, b.group, b.ranks, b.bytes);
  }
};

/// The collective that a message's words mean ("_allgather_base", "AllReduce"); nothing for others.
[[nodiscard]] std::optional<costmodel::CollectiveKind> collective_of(const TraceMessage& message);

/// C[m,n] = A[m,k]·B[k,n], `batch` times.
struct TraceGemm {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::string type;  // "c10::BFloat16"
  friend bool operator==(const TraceGemm&, const TraceGemm&) = default;
  friend bool operator<(const TraceGemm& a, const TraceGemm& b) {
    return std::tie(a.m, a.n, a.k, a.batch, a.type) < std::tie(b.m, b.n, b.k, b.batch, b.type);
  }
};

struct TraceStep {
  std::int64_t iteration = 0;
  double start = 0, duration = 0;
};

/// Who recorded a trace.
enum class Profiler : std::uint8_t { PyTorch, NsightSystems };
/// "PyTorch profiler", "Nsight Systems".
[[nodiscard]] std::string_view name_of(Profiler profiler);

struct DeviceTrace {
  std::string file;
  Profiler profiler = Profiler::PyTorch;
  std::string part;  // which of a file's devices: "process 4711, GPU 3"; empty: it has one alone
  std::optional<std::int64_t> rank, world_size;
  std::string device;     // "NVIDIA H100 80GB HBM3"; empty: not said
  bool on_device = true;  // false: a trace of a CPU; kernels are operators less what they call
  bool cut_off = false;   // the file ends in the middle
  bool stopped = false;   // TraceReading::stop: nothing in it can be relied upon
  std::uint64_t events = 0;
  std::vector<TraceStep> steps;      // as the program marked them, by start
  std::vector<TraceKernel> kernels;  // by start
  std::vector<TraceMessage> messages;
  std::map<std::int64_t, TraceGemm> gemms;  // by external id of the operator
  std::vector<std::string> names;           // of kernels
  std::vector<std::int64_t> streams;        // as the file numbers them
  std::vector<std::string> notes;           // of its reader
};

/// Somebody waits for a trace, and may give up.
struct TraceReading {
  std::function<void(double)> progress;  // share of the file, 0 to 1, every few thousand events
  std::stop_token stop;
};

inline constexpr std::uint64_t kMostTraceEvents = 200'000'000;
inline constexpr std::size_t kMostTraceKernels = 30'000'000;
inline constexpr std::size_t kMostKernelNames = 100'000;

/// Reads what a profiler wrote: a trace of PyTorch's (kineto_trace.h), which has one device, or an export of
/// Nsight Systems (nsight_export.h), which has those of all processes that it watched. Never empty.
/// InputError as those throw it, and for Nsight Systems' own reports, which have to be exported first.
[[nodiscard]] std::vector<DeviceTrace> read_traces(const std::filesystem::path& path,
                                                   const TraceReading& reading = {});
/// Whether a file is one of these, by its name or its beginning.
[[nodiscard]] bool is_trace(const std::filesystem::path& path);

}  // namespace hexaplan::presets
