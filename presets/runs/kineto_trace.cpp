#include "presets/runs/kineto_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "costmodel/units/parse_number.h"
#include "presets/json/input_error.h"
#include "presets/runs/byte_stream.h"
#include "presets/runs/trace_builder.h"

namespace hexaplan::presets {
namespace {

using Number = nlohmann::json::number_float_t;

constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kMostDims = 64;
constexpr std::size_t kMostTracedSteps = 100'000;
/// A token of JSON longer than this is no trace: nothing in one is, and the parser holds it whole.
constexpr std::uint64_t kLongestToken = 64'000'000;

/// What of an event anybody asks for.
struct TraceEvent {
  std::string name, category, phase;
  std::string collective, group, type;  // of args: a message
  std::string input_type;               // of the first input
  double start = -1, duration = -1;
  std::int64_t external = -1, correlation = -1, thread = 0;
  double in_elements = 0, out_elements = 0, ranks = 0;
  std::vector<std::vector<std::int64_t>> dims;  // "Input Dims"
};

double bytes_of_type(std::string_view type) {
  constexpr std::pair<std::string_view, double> kTypes[] = {
      {"BFloat16", 2}, {"Half", 2}, {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}, {"Float", 4}, {"Double", 8},
      {"Int", 4},      {"Long", 8}, {"Char", 1},          {"Byte", 1},        {"Bool", 1},  {"Short", 2}};
  const auto found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& row) { return row.first == type; });
  return found == std::end(kTypes) ? 0 : found->second;
}

/// An operator of the CPU, kept until it is known whether there is a device.
struct CpuOperator {
  double start, duration;
  std::int64_t thread, external;
  KernelKind kind;
};

std::optional<TraceGemm> gemm_of(const TraceEvent& event) {
  auto gemm = product_of_operator(event.name, event.dims);
  if (gemm) gemm->type = event.input_type;
  return gemm;
}

/// Puts events where they belong.
class EventSorter {
 public:
  explicit EventSorter(DeviceTrace& trace) : trace_{trace}, builder_{trace} {}

  void add(const TraceEvent& event) {
    ++trace_.events;
    if (event.phase != "X" || !(event.start >= 0) || !(event.duration >= 0) || !(event.start < 1e18) ||
        !(event.duration < 1e15))
      return;
    if (!base_) base_ = event.start;
    const std::string_view category = event.category;
    if (category == "kernel" || category == "Kernel" || category == "gpu_memcpy" || category == "Memcpy" ||
        category == "gpu_memset" || category == "Memset") {
      add_kernel(event);
    } else if (event.name.starts_with("ProfilerStep#")) {
      add_step(event);
    } else if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime") {
      builder_.add_launch({event.correlation, event.thread, since_base(event.start)});
    } else if (category == "cpu_op" || category == "Operator" || category == "operator") {
      add_operator(event);
    }
  }

  void finish() {
    if (trace_.kernels.empty()) take_operators();
    const std::map<std::int64_t, TraceStep>& steps = host_steps_.empty() ? device_steps_ : host_steps_;
    for (const auto& [number, step] : steps) builder_.add_step(step);
    builder_.finish();
  }

 private:
  [[nodiscard]] double since_base(double time) const { return time - *base_; }

  /// Kernels stand under the number of their stream where CPU events have their thread.
  void add_kernel(const TraceEvent& event) {
    const DeviceEvent kernel{
        .name = event.name,
        .start = since_base(event.start),
        .duration = event.duration,
        .kind = event.category.ends_with("ernel") ? kind_of_kernel(event.name) : KernelKind::Copy,
        .stream = event.thread,
        .operation = event.external,
        .correlation = event.correlation};
    if (kernel.kind != KernelKind::Collective) return builder_.add(kernel);
    builder_.add_message(
        kernel, {.kind = event.collective.empty() ? message_of_kernel(event.name) : event.collective,
                 .group = event.group,
                 .ranks = static_cast<std::int64_t>(std::clamp(event.ranks, 0.0, 1e9)),
                 .bytes = std::max(event.in_elements, event.out_elements) * bytes_of_type(event.type)});
  }

  /// Kineto draws a step where the program marked it and, since PyTorch 2.0, once more per stream of the
  /// device ("gpu_user_annotation"), from the first to the last kernel that it launched there: parts of the
  /// step, which count, joined, where nothing else is drawn.
  void add_step(const TraceEvent& event) {
    const auto number = costmodel::parse_number<std::int64_t>(std::string_view{event.name}.substr(13));
    if (!number) return;
    const bool on_device = event.category.starts_with("gpu_");
    auto& steps = on_device ? device_steps_ : host_steps_;
    if (steps.size() >= kMostTracedSteps) return;
    const double start = since_base(event.start);
    const auto [found, added] = steps.try_emplace(*number, TraceStep{*number, start, event.duration});
    if (added || !on_device) return;
    TraceStep& step = found->second;
    const double end = std::max(step.start + step.duration, start + event.duration);
    step.start = std::min(step.start, start);
    step.duration = end - step.start;
  }

  void add_operator(const TraceEvent& event) {
    const double start = since_base(event.start);
    if (event.external >= 0) {
      if (auto gemm = gemm_of(event))
        builder_.add_product(event.external, std::move(*gemm), event.thread, start, start + event.duration);
    }
    if (!trace_.kernels.empty() || operators_.size() >= kMostTraceKernels) return;
    operators_.push_back({start, event.duration, event.thread, event.external, kind_of_operator(event.name)});
  }

  /// Without a device the operators are the work: each less those that it calls.
  void take_operators() {
    trace_.on_device = false;
    std::stable_sort(operators_.begin(), operators_.end(), [](const CpuOperator& a, const CpuOperator& b) {
      return std::tie(a.thread, a.start, b.duration) < std::tie(b.thread, b.start, a.duration);
    });
    std::vector<std::size_t> open;  // kernels that the next operator may lie in
    std::int64_t thread = 0;
    for (const CpuOperator& op : operators_) {
      if (thread != op.thread) open.clear();
      thread = op.thread;
      while (!open.empty() && ends_[open.back()] <= op.start) open.pop_back();
      if (!open.empty()) {
        double& own = trace_.kernels[open.back()].duration;
        own = std::max(0.0, own - op.duration);
      }
      open.push_back(trace_.kernels.size());
      builder_.add({.name = {},
                    .start = op.start,
                    .duration = op.duration,
                    .kind = op.kind,
                    .stream = op.thread,
                    .operation = op.external});
      ends_.push_back(op.start + op.duration);
    }
  }

  DeviceTrace& trace_;
  TraceBuilder builder_;
  std::optional<double> base_;
  std::map<std::int64_t, TraceStep> host_steps_, device_steps_;  // by number
  std::vector<CpuOperator> operators_;
  std::vector<double> ends_;
};

/// nlohmann-json's events to ours. `path_` holds the keys that lead to where the parser is; an array adds
/// none.
class TraceHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  TraceHandler(DeviceTrace& trace, const ByteStream& stream, const TraceReading& reading)
      : trace_{trace}, stream_{stream}, reading_{reading}, sorter_{trace} {}
  void finish() { sorter_.finish(); }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value), value); }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr number_unsigned_t kMost = 1ULL << 62;
    return number(static_cast<double>(value), static_cast<std::int64_t>(std::min(value, kMost)));
  }
  bool number_float(Number value, const string_t&) override {
    const bool whole = std::isfinite(value) && std::abs(value) < 9e18;
    return number(value, whole ? static_cast<std::int64_t>(value) : -1);
  }
  bool string(string_t& value) override {
    if (is_in_event()) {
      event_text(value);
    } else if (in_event_ && depth_ == event_depth_ + 1) {
      argument_text(value);
    } else if (in_event_ && depth_ == event_depth_ + 2 && (key_ == "Input type" || key_ == "Input Type")) {
      if (event_.input_type.empty()) event_.input_type = value.substr(0, kLongestName);
    } else if (!in_event_ && section_ == "deviceProperties" && key_ == "name" && trace_.device.empty()) {
      trace_.device = value.substr(0, kLongestName);
    }
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ <= 3 && !in_event_ && in_events_array_) {
      in_event_ = true;
      event_depth_ = depth_;
      event_ = {};
    }
    return true;
  }
  bool end_object() override {
    if (in_event_ && depth_ == event_depth_) {
      sorter_.add(event_);
      in_event_ = false;
      if (trace_.events > kMostTraceEvents || !goes_on()) return false;
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0 || (depth_ == 1 && section_ == "traceEvents")) in_events_array_ = true;
    ++depth_;
    if (in_event_ && is_dims() && depth_ == event_depth_ + 3 && event_.dims.size() < kMostDims)
      event_.dims.emplace_back();
    return true;
  }
  bool end_array() override {
    --depth_;
    if (depth_ <= 1) in_events_array_ = false;
    return true;
  }
  bool key(string_t& value) override {
    if (depth_ == 1) section_ = value.substr(0, kLongestName);
    key_ = value.substr(0, kLongestName);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    trace_.cut_off = true;
    return false;
  }

 private:
  /// Every few thousand events: somebody may have given up.
  bool goes_on() {
    constexpr std::uint64_t kLooks = 4096;
    if (trace_.events % kLooks != 0) return true;
    if (reading_.progress) reading_.progress(stream_.share());
    trace_.stopped = reading_.stop.stop_requested();
    return !trace_.stopped;
  }
  [[nodiscard]] bool is_in_event() const { return in_event_ && depth_ == event_depth_; }
  [[nodiscard]] bool is_dims() const { return key_ == "Input Dims" || key_ == "Input dims"; }

  bool number(double value, std::int64_t whole) {
    if (is_in_event()) {
      if (key_ == "ts") event_.start = value;
      if (key_ == "dur") event_.duration = value;
      if (key_ == "tid") event_.thread = whole;
    } else if (in_event_ && is_dims()) {
      if (!event_.dims.empty() && event_.dims.back().size() < kMostDims) event_.dims.back().push_back(whole);
    } else if (in_event_ && depth_ == event_depth_ + 1) {
      argument_number(value, whole);
    } else if (!in_event_ && section_ == "distributedInfo" && depth_ == 2) {
      if (key_ == "rank") trace_.rank = whole;
      if (key_ == "world_size") trace_.world_size = whole;
    }
    return true;
  }
  void argument_number(double value, std::int64_t whole) {
    if (key_ == "External id" || key_ == "external id") event_.external = whole;
    if (key_ == "correlation") event_.correlation = whole;
    if (key_ == "In msg nelems" && value >= 0) event_.in_elements = value;
    if (key_ == "Out msg nelems" && value >= 0) event_.out_elements = value;
    if (key_ == "Group size" && value >= 0) event_.ranks = value;
  }
  void event_text(const std::string& value) {
    if (key_ == "name") event_.name = value.substr(0, kLongestName);
    if (key_ == "cat") event_.category = value.substr(0, kLongestName);
    if (key_ == "ph") event_.phase = value.substr(0, 8);
    // Some versions write times as strings.
    const auto time = [&](double& target) {
      if (const auto read = costmodel::parse_number<double>(value)) target = *read;
    };
    if (key_ == "ts") time(event_.start);
    if (key_ == "dur") time(event_.duration);
  }
  void argument_text(const std::string& value) {
    if (key_ == "Collective name") event_.collective = value.substr(0, 80);
    if (key_ == "Process Group Description" || (key_ == "Process Group Name" && event_.group.empty()))
      event_.group = value.substr(0, 80);
    if (key_ == "dtype") event_.type = value.substr(0, 80);
  }

  DeviceTrace& trace_;
  const ByteStream& stream_;
  const TraceReading& reading_;
  EventSorter sorter_;
  TraceEvent event_;
  std::string section_, key_;
  int depth_ = 0, event_depth_ = 0;
  bool in_event_ = false, in_events_array_ = false;
};

bool is_letter(int byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/// The bytes of a stream as JSON: Kineto writes "inf" and "nan" of rates over no time, which JSON does not
/// know; they become 0. A token that never ends, ends the file.
class JsonBytes {
 public:
  explicit JsonBytes(ByteStream& stream) : stream_{stream} {}

  int next() {
    const int byte = take();
    in_token_ = byte == ',' || byte == '"' ? 0 : in_token_ + 1;
    if (in_token_ > kLongestToken) return -1;
    if (in_string_) {
      in_string_ = byte != '"' || escaped_;
      escaped_ = byte == '\\' && !escaped_;
      return byte;
    }
    in_string_ = byte == '"';
    if (byte == 'i' || byte == 'I' || byte == 'N') return skip_word();
    if (byte != 'n') return byte;
    waiting_ = stream_.next();
    return waiting_ == 'a' ? skip_word() : byte;
  }

 private:
  int take() {
    const int byte = waiting_ == kNone ? stream_.next() : waiting_;
    waiting_ = kNone;
    return byte;
  }
  int skip_word() {
    int byte = take();
    while (is_letter(byte)) byte = stream_.next();
    waiting_ = byte;
    return '0';
  }

  static constexpr int kNone = -2;
  ByteStream& stream_;
  int waiting_ = kNone;
  std::uint64_t in_token_ = 0;
  bool in_string_ = false, escaped_ = false;
};

/// What nlohmann-json iterates over.
class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  ByteIterator() = default;
  explicit ByteIterator(JsonBytes& bytes) : bytes_{&bytes} { ++*this; }
  reference operator*() const { return byte_; }
  ByteIterator& operator++() {
    const int next = bytes_->next();
    if (next < 0) bytes_ = nullptr;
    byte_ = static_cast<char>(next);
    return *this;
  }
  ByteIterator operator++(int) {
    ByteIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const ByteIterator& a, const ByteIterator& b) { return a.bytes_ == b.bytes_; }
  friend bool operator!=(const ByteIterator& a, const ByteIterator& b) { return !(a == b); }

 private:
  JsonBytes* bytes_ = nullptr;
  char byte_ = 0;
};

}  // namespace

DeviceTrace read_kineto_trace(const std::filesystem::path& path, const TraceReading& reading) {
  DeviceTrace trace;
  trace.file = path.string();
  ByteStream stream{path};
  TraceHandler handler{trace, stream, reading};
  JsonBytes bytes{stream};
  nlohmann::json::sax_parse(ByteIterator{bytes}, ByteIterator{}, &handler,
                            nlohmann::json::input_format_t::json, false);
  if (trace.stopped) return trace;
  handler.finish();
  trace.cut_off = trace.cut_off || stream.is_cut_off();
  if (trace.events == 0 || trace.kernels.empty())
    throw InputError(
        {.file = trace.file,
         .value = trace.events == 0 ? "no event"
                                    : fmt::format("{} events, none of which ran anything", trace.events),
         .expected = "a trace that torch.profiler wrote (export_chrome_trace), plain or gzip'ed"});
  return trace;
}

bool is_kineto_trace(const std::filesystem::path& path) {
  constexpr std::size_t kLooked = 64'000;
  ByteStream stream{path};
  std::string start;
  for (int byte = stream.next(); byte >= 0 && start.size() < kLooked; byte = stream.next())
    start += static_cast<char>(byte);
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || (start[first] != '{' && start[first] != '[')) return false;
  return start.find("\"traceEvents\"") != std::string::npos || start.find("\"ph\"") != std::string::npos ||
         start.find("\"schemaVersion\"") != std::string::npos;
}

}  // namespace hexaplan::presets
