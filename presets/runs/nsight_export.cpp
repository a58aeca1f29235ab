#include "presets/runs/nsight_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "presets/json/input_error.h"
#include "presets/runs/nvtx_payload.h"
#include "presets/runs/nvtx_ranges.h"
#include "presets/runs/sqlite_file.h"
#include "presets/runs/trace_builder.h"

namespace hexaplan::presets {
namespace {

constexpr const char* kKernelTable = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kGraphTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr const char* kRuntimeTable = "CUPTI_ACTIVITY_KIND_RUNTIME";

/// Serialised ids have the thread in their lower 24 bits; the rest is the process (the same documentation,
/// "Common SQLite Examples").
std::int64_t process_of(std::int64_t global_id) {
  return global_id & ~std::int64_t{0xffffff};
}
std::int64_t number_of_process(std::int64_t global_id) {
  return global_id / 0x1000000 % 0x1000000;
}

double microseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-3;
}

/// What ran that is no kernel of its own, by its table.
struct SpanTable {
  const char* table;
  std::string_view name;
  KernelKind kind;
  const char* note = nullptr;
};
constexpr SpanTable kSpanTables[] = {
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "[CUDA memcpy]", KernelKind::Copy},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "[CUDA memset]", KernelKind::Copy},
    {kGraphTable, "CUDA graph", KernelKind::Other,
     "CUDA graphs are recorded as a whole: what ran in them is not told apart (nsys profile "
     "--cuda-graph-trace=node)"}};

/// A message whose call is not known yet.
struct PendingMessage {
  DeviceEvent event;  // without a name: it would look at a row that is gone
  std::string name;
};

/// One device of one process.
struct Device {
  DeviceTrace trace;
  TraceBuilder builder{trace};
  std::vector<PendingMessage> messages;
};

struct Process {
  ProcessRanges ranges;
  std::set<std::int64_t> wanted;  // correlations whose launches are looked for
  std::map<std::int64_t, TraceLaunch> launches;
};

class NsightReader {
 public:
  NsightReader(const std::filesystem::path& path, const TraceReading& reading)
      : path_{path}, reading_{reading}, file_{path} {}

  std::vector<DeviceTrace> read() {
    read_ranges();
    read_kernels();
    for (const SpanTable& table : kSpanTables) read_spans(table);
    read_launches();
    if (!stopped_ && devices_.empty())
      throw InputError({.file = path_.string(),
                        .value = "no kernel",
                        .expected = "a recording of a GPU (nsys profile --trace=cuda,nvtx)"});
    return take();
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  // process and device

  /// The column, or nothing where this version has none.
  std::string column(const std::string& table, const std::string& name, const char* otherwise = "NULL") {
    return file_.has_column(table, name) ? "t.\"" + name + "\"" : otherwise;
  }

  /// Every few thousand rows: somebody may have given up. False: stop.
  bool goes_on() {
    constexpr std::uint64_t kLooks = 4096;
    if (++rows_ % kLooks != 0) return true;
    if (rows_ > kMostTraceEvents)
      throw InputError({.file = path_.string(),
                        .value = fmt::format("more than {} rows", kMostTraceEvents),
                        .expected = "a recording of a few steps"});
    // How many rows are left nobody counts: the tables are the measure.
    constexpr double kTables = 6;
    if (reading_.progress) reading_.progress(std::min(1.0, tables_ / kTables));
    stopped_ = stopped_ || reading_.stop.stop_requested();
    return !stopped_;
  }

  Device& device(std::int64_t process, std::int64_t number) {
    const auto [found, added] = devices_.try_emplace(Key{process, number});
    Device& device = found->second;
    if (added) {
      device.trace.file = path_.string();
      device.trace.profiler = Profiler::NsightSystems;
    }
    ++device.trace.events;
    return device;
  }

  void read_ranges() {
    ++tables_;
    const std::string table = "NVTX_EVENTS";
    if (!file_.has_table(table)) return;
    const NvtxPayloads payloads{file_};
    const std::string text_id = column(table, "textId");
    SqliteRows rows{file_, "SELECT t.start, t.\"end\", t.globalTid, coalesce(" + column(table, "text") +
                               ", s.value), " + column(table, "binaryData") +
                               " FROM NVTX_EVENTS t LEFT JOIN StringIds s ON s.id = " + text_id +
                               " WHERE t.\"end\" IS NOT NULL"};
    while (rows.next() && goes_on()) {
      const NvtxRange range{rows.integer(2), microseconds(rows.integer(0)), microseconds(rows.integer(1))};
      if (!(range.end >= range.start)) continue;
      const auto payload = rows.is_null(4) ? std::nullopt : payloads.decode(rows.text(4));
      processes_[process_of(range.thread)].ranges.add(range, rows.text(3), payload);
    }
    for (auto& [id, process] : processes_) process.ranges.finish();
  }

  void read_kernels() {
    ++tables_;
    const std::string table = kKernelTable;
    if (!file_.has_table(table)) return;
    const std::string name =
        fmt::format("coalesce({}, {})", column(table, "demangledName"), column(table, "shortName"));
    SqliteRows rows{file_, "SELECT t.start, t.\"end\", t.deviceId, t.streamId, " +
                               column(table, "correlationId", "-1") + ", " + column(table, "globalPid", "0") +
                               ", s.value FROM " + table + " t LEFT JOIN StringIds s ON s.id = " + name};
    while (rows.next() && goes_on()) {
      const std::int64_t process = process_of(rows.integer(5));
      Device& on = device(process, rows.integer(2));
      DeviceEvent event{.name = rows.text(6),
                        .start = microseconds(rows.integer(0)),
                        .duration = microseconds(rows.integer(1) - rows.integer(0)),
                        .kind = kind_of_kernel(rows.text(6)),
                        .stream = rows.integer(3),
                        .correlation = rows.integer(4)};
      if (!(event.duration >= 0)) continue;
      const bool message = event.kind == KernelKind::Collective;
      if (message || event.kind == KernelKind::Gemm) processes_[process].wanted.insert(event.correlation);
      if (message) {
        std::string kernel{std::exchange(event.name, {})};
        on.messages.push_back({event, std::move(kernel)});
      } else {
        on.builder.add(event);
      }
    }
  }

  void read_spans(const SpanTable& spans) {
    ++tables_;
    const std::string table = spans.table;
    if (!file_.has_table(table)) return;
    SqliteRows rows{file_, "SELECT t.start, t.\"end\", t.deviceId, " + column(table, "streamId", "0") + ", " +
                               column(table, "globalPid", "0") + " FROM " + table + " t"};
    while (rows.next() && goes_on()) {
      Device& on = device(process_of(rows.integer(4)), rows.integer(2));
      const std::int64_t length = rows.integer(1) - rows.integer(0);
      if (length >= 0)
        on.builder.add({.name = spans.name,
                        .start = microseconds(rows.integer(0)),
                        .duration = microseconds(length),
                        .kind = spans.kind,
                        .stream = rows.integer(3)});
      if (spans.note != nullptr && on.trace.notes.empty()) on.trace.notes.emplace_back(spans.note);
    }
  }

  void read_launches() {
    ++tables_;
    const std::string table = kRuntimeTable;
    if (!file_.has_table(table)) return;
    SqliteRows rows{file_, "SELECT t.correlationId, t.globalTid, t.start FROM " + table + " t"};
    while (rows.next() && goes_on()) {
      const auto process = processes_.find(process_of(rows.integer(1)));
      if (process == processes_.end() || !process->second.wanted.contains(rows.integer(0))) continue;
      // cudaLaunchKernel calls cuLaunchKernel, which has the same correlation: either tells the operator.
      process->second.launches.try_emplace(
          rows.integer(0), TraceLaunch{rows.integer(0), rows.integer(1), microseconds(rows.integer(2))});
    }
  }

  void resolve_messages(Device& on, const Process& process) {
    struct Launched {
      const PendingMessage* message;
      std::optional<TraceLaunch> launch;
    };
    std::vector<Launched> launched;
    for (const PendingMessage& message : on.messages) {
      const auto found = process.launches.find(message.event.correlation);
      launched.push_back(
          {&message, found == process.launches.end() ? std::nullopt : std::optional{found->second}});
    }
    const auto order = [](const Launched& l) {
      return l.launch ? std::tuple{l.launch->thread, l.launch->start} : std::tuple{std::int64_t{-1}, 0.0};
    };
    std::stable_sort(launched.begin(), launched.end(),
                     [&](const Launched& a, const Launched& b) { return order(a) < order(b); });
    const TraceLaunch* before = nullptr;
    for (const Launched& one : launched) {
      std::optional<TraceMessage> said;
      if (one.launch) {
        const bool same_thread = before != nullptr && before->thread == one.launch->thread;
        said = process.ranges.message({one.launch->thread, one.launch->start, one.launch->start},
                                      same_thread ? before->start : -1);
        before = &*one.launch;
      }
      DeviceEvent event = one.message->event;
      event.name = one.message->name;
      on.builder.add_message(event,
                             said.value_or(TraceMessage{.kind = message_of_kernel(event.name), .group = {}}));
    }
  }

  /// What the process says of itself and of all its devices.
  void add_ranges(Device& on, const Process& process) {
    for (const auto& [correlation, launch] : process.launches) on.builder.add_launch(launch);
    std::int64_t operation = 0;
    for (const ProcessRanges::Product& product : process.ranges.products())
      on.builder.add_product(operation++, product.gemm, product.range.thread, product.range.start,
                             product.range.end);
    for (const TraceStep& step : process.ranges.steps()) on.builder.add_step(step);
    on.trace.rank = process.ranges.rank();
    on.trace.world_size = process.ranges.world_size();
  }

  std::string device_name(std::int64_t device) {
    const std::string table = "TARGET_INFO_GPU";
    if (!file_.has_table(table) || !file_.has_column(table, "name")) return {};
    // Devices are numbered as the process sees them: where there is none of its number, any is like it.
    SqliteRows rows{file_, "SELECT name FROM TARGET_INFO_GPU ORDER BY id <> " + std::to_string(device)};
    return rows.next() ? std::string{rows.text(0)} : std::string{};
  }

  std::vector<DeviceTrace> take() {
    std::vector<DeviceTrace> traces;
    for (auto& [key, on] : devices_) {
      const auto& [process, number] = key;
      const Process& of = processes_[process];
      resolve_messages(on, of);
      add_ranges(on, of);
      on.builder.finish();
      on.trace.device = device_name(number);
      on.trace.stopped = stopped_;
      if (devices_.size() > 1)
        on.trace.part = fmt::format("process {}, GPU {}", number_of_process(process), number);
      traces.push_back(std::move(on.trace));
    }
    return traces;
  }

  std::filesystem::path path_;
  const TraceReading& reading_;
  SqliteFile file_;
  std::map<Key, Device> devices_;
  std::map<std::int64_t, Process> processes_;
  std::uint64_t rows_ = 0;
  double tables_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::vector<DeviceTrace> read_nsight_export(const std::filesystem::path& path, const TraceReading& reading) {
  std::vector<DeviceTrace> traces = NsightReader{path, reading}.read();
  if (traces.empty()) traces.push_back({.file = path.string(), .stopped = true});
  return traces;
}

bool is_nsight_export(const std::filesystem::path& path) {
  if (!SqliteFile::is_one(path)) return false;
  SqliteFile file{path};
  return file.has_table("StringIds") &&
         (file.has_table(kKernelTable) || file.has_table(kGraphTable) || file.has_table("ANALYSIS_DETAILS"));
}

}  // namespace hexaplan::presets
