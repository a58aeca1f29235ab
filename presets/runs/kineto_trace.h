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

// Traces of PyTorch's profiler (Kineto): Chrome trace JSON, one file per rank. Times are microseconds from
// the first event of the file.

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

/// A message as `record_param_comms` describes it; the same for all that are alike.
struct TraceMessage {
  std::string kind;   // "allreduce", "_allgather_base", …; of the kernel's name where nothing else is said
  std::string group;  // name of the process group
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

struct KinetoTrace {
  std::string file;
  std::optional<std::int64_t> rank, world_size;
  std::string device;     // "NVIDIA H100 80GB HBM3"; empty: not said
  bool on_device = true;  // false: a trace of a CPU; kernels are operators less what they call
  bool cut_off = false;   // the file ends in the middle
  bool stopped = false;   // TraceReading::stop: nothing in it can be relied upon
  std::uint64_t events = 0;
  std::vector<TraceStep> steps;      // ProfilerStep#N, by start
  std::vector<TraceKernel> kernels;  // by start
  std::vector<TraceMessage> messages;
  std::map<std::int64_t, TraceGemm> gemms;  // by external id of the operator
  std::vector<std::string> names;           // of kernels
  std::vector<std::int64_t> streams;        // as the file numbers them
};

/// Somebody waits for a trace, and may give up.
struct TraceReading {
  std::function<void(double)> progress;  // share of the file, 0 to 1, every few thousand events
  std::stop_token stop;
};

inline constexpr std::uint64_t kMostTraceEvents = 200'000'000;
inline constexpr std::size_t kMostTraceKernels = 30'000'000;
inline constexpr std::size_t kMostKernelNames = 100'000;

/// Reads a trace, gzip'ed or not, event by event: what is kept are kernels, shapes of products, messages and
/// steps. A file that ends in the middle gives what is whole, `cut_off`. InputError when no event can be
/// read, or when nothing in it ran.
[[nodiscard]] KinetoTrace read_kineto_trace(const std::filesystem::path& path,
                                            const TraceReading& reading = {});
/// Whether a file begins as such a trace does: an object, or an array, of JSON (perhaps gzip'ed) that has
/// "traceEvents" or "ph" within its first pieces. Reads no further.
[[nodiscard]] bool is_kineto_trace(const std::filesystem::path& path);

}  // namespace hexaplan::presets
