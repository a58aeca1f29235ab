#include "presets/calibration/fabric/read_nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "costmodel/communication/bus_share.h"
#include "costmodel/units/parse_number.h"
#include "presets/json/input_error.h"
#include "presets/json/read_text_file.h"
#include "presets/runs/file_kind.h"

namespace hexaplan::presets {
namespace {

using costmodel::Bytes;
using costmodel::CollectiveKind;
using costmodel::Seconds;

/// A test by the name of its program, and its bus bandwidth over its algorithm bandwidth (nccl-tests
/// doc/PERFORMANCE.md).
struct Program {
  std::string_view name;
  CollectiveKind kind;
};
constexpr Program kPrograms[] = {
    {"all_reduce", CollectiveKind::AllReduce},
    {"all_gather", CollectiveKind::AllGather},
    {"reduce_scatter", CollectiveKind::ReduceScatter},
    {"alltoall", CollectiveKind::AllToAll},
    {"sendrecv", CollectiveKind::SendRecv},
    {"broadcast", CollectiveKind::Broadcast},
};
/// Rows are checked where three digits are printed; the bandwidths have two decimals.
constexpr double kCheckedFrom = 5.0, kRounding = 0.01;

/// What a test says when it gives up; the runs behind it are worth nothing.
constexpr std::string_view kFailures[] = {"Test NCCL failure", "Test CUDA failure", "Test failure",
                                          "NCCL WARN Cuda failure", "FAILED"};

constexpr std::string_view kBlanks = " \t\r";

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

/// Without what mpirun --tag-output puts in front: "[1,0]<stdout>:".
std::string_view untagged(std::string_view line) {
  const std::size_t tag = line.find(">:");
  if (!line.empty() && line.front() == '[' && tag != std::string_view::npos) line.remove_prefix(tag + 2);
  const std::size_t first = line.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view{} : line.substr(first);
}

std::optional<double> number_in_log(std::string_view word) {
  const auto value = costmodel::parse_number<double>(word);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// The program whose name and "_perf" stand first in the text.
const Program* program_in(std::string_view text) {
  const Program* found = nullptr;
  std::size_t first = std::string_view::npos;
  for (const Program& program : kPrograms) {
    const std::size_t at = text.find(fmt::format("{}_perf", program.name));
    if (at < first) {
      first = at;
      found = &program;
    }
  }
  return found;
}

/// The program that a file is named after: "h100-all_gather.log".
const Program* program_of_name(std::string_view file) {
  const auto found = std::find_if(std::begin(kPrograms), std::end(kPrograms), [&](const Program& p) {
    return file.find(p.name) != std::string_view::npos;
  });
  return found == std::end(kPrograms) ? nullptr : &*found;
}

/// "23102" → "2.31.2" (nccl.h: NCCL_VERSION since 2.9).
std::string nccl_version(int code) {
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : file_{file},
        text_{text},
        file_program_{program_of_name(std::filesystem::path{file}.filename().string())} {}

  std::vector<NcclTest> read() {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      ++line_;
      read_line(untagged(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    finish_run();
    if (tests_.empty()) {
      constexpr const char* kOwn = "a table of nccl-tests";
      const std::string other = reader_hint(text_, file_, kOwn);
      throw InputError({.file = file_,
                        .expected = kOwn,
                        .hint = other.empty() ? "give what all_reduce_perf and its siblings print" : other});
    }
    return std::move(tests_);
  }

 private:
  [[noreturn]] void fail(std::string value, std::string expected, std::string hint = {}) const {
    throw InputError({.file = fmt::format("{}:{}", file_, line_),
                      .value = std::move(value),
                      .expected = std::move(expected),
                      .hint = std::move(hint)});
  }

  void read_line(std::string_view line) {
    for (const std::string_view failure : kFailures) {
      if (line.find(failure) == std::string_view::npos) continue;
      fail(in_quotes(line), "a test that succeeded", "leave this run out or repeat it");
    }
    if (line.starts_with("#")) {
      read_comment(line);
    } else if (!line.empty() && line.front() >= '0' && line.front() <= '9') {
      read_row(line);
    } else if (const Program* program = program_in(line)) {
      finish_run();  // the command line of the next run
      spoken_ = program;
    }
  }

  void read_comment(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line.substr(1));
    if (words.empty()) return;
    if (words.front() == "nccl-tests" || (words.front() == "nThread" && !run_.rows.empty())) finish_run();
    if (words.front() == "Collective" && words.size() > 3 && words[2] == "starting:") {
      if (!run_.rows.empty()) finish_run();
      named_ = program_in(line);
      if (named_ == nullptr)
        fail(in_quotes(words[3]), "a collective that the cost model knows", known_programs());
    }
    for (const std::string_view word : words) read_version(word);
    if (words.front() == "Rank") read_rank(words);
  }

  void read_version(std::string_view word) {
    constexpr std::string_view kLibrary = "nccl-library=";
    if (!word.starts_with(kLibrary)) return;
    if (const auto code = number_in_log(word.substr(kLibrary.size())))
      run_.version = nccl_version(static_cast<int>(*code));
  }

  /// "Rank  0 Group  0 Pid 204199 on  nid005471 device  0 [0009:01:00] NVIDIA GH200 120GB"
  void read_rank(const std::vector<std::string_view>& words) {
    const auto on = std::find(words.begin(), words.end(), "on");
    const auto device = std::find(on, words.end(), "device");
    if (words.size() < 2 || on == words.end() || device == words.end()) return;
    if (!run_.rows.empty()) finish_run();
    if (!ranks_.insert(std::string{words[1]}).second)
      fail(fmt::format("rank {} twice", words[1]), "one process per rank in a table",
           "build nccl-tests with MPI=1: without, every process runs a test of its own");
    ++hosts_[std::string{*(on + 1)}];
    std::string name;
    for (auto word = device + 1; word != words.end(); ++word) {
      if (word == device + 1 || word->front() == '[') continue;  // its number and its place on the bus
      name += (name.empty() ? "" : " ") + std::string{*word};
    }
    if (!run_.device.empty() && run_.device != name)
      fail(in_quotes(name), fmt::format("the same device on all ranks, {}", run_.device));
    run_.device = name;
  }

  /// size, count, type, redop, [root,] then one or two times (time, algbw, busbw, wrong), [timestamp].
  void read_row(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    const auto size = number_in_log(words[0]);
    if (!size || words.size() < 3 || !number_in_log(words[1]) || number_in_log(words[2]))
      return;  // other output
    // Older tables have no root: the fifth column is a time, with a point in it.
    std::size_t at = 4;
    if (words.size() > 4 && words[4].find('.') == std::string_view::npos &&
        number_in_log(words[4]).value_or(0) < 1e3 && (words.size() - 5) % 4 <= 2 && words.size() >= 9)
      at = 5;
    // The per-iteration report (-I) has four more columns behind each time.
    const std::size_t columns = words.size() >= at + 16 ? 8 : 4;
    NcclTestRow row{.payload = Bytes{*size}, .times = {}};
    for (; at + 4 <= words.size() && row.times.size() < 2; at += columns) read_times(words, at, row);
    if (row.times.empty()) fail(in_quotes(line), "a whole row: time, algbw, busbw and #wrong");
    if (*size > 0) run_.rows.push_back(std::move(row));
  }

  void read_times(const std::vector<std::string_view>& words, std::size_t at, NcclTestRow& row) {
    const auto time = number_in_log(words[at]), algorithm = number_in_log(words[at + 1]),
               bus = number_in_log(words[at + 2]);
    if (!time || !algorithm || !bus || *time <= 0)
      fail(in_quotes(words[at]), "time in microseconds and two bandwidths in GB/s");
    // "N/A": not checked. Old tables print the relative error there, which is no count.
    const auto wrong = number_in_log(words[at + 3]);
    if (!wrong && words[at + 3] != "N/A") fail(in_quotes(words[at + 3]), "a number of wrong values, or N/A");
    if (wrong && *wrong >= 1)
      fail(fmt::format("{} wrong values", *wrong), "none", "this run computed wrongly");
    row.times.push_back(Seconds{*time * 1e-6});
    if (*algorithm >= kCheckedFrom) factors_.push_back(*bus / *algorithm);
  }

  /// Ends the run that the lines so far belong to.
  void finish_run() {
    if (!run_.rows.empty()) {
      run_.ranks = static_cast<int>(ranks_.size());
      run_.nodes = static_cast<int>(hosts_.size());
      if (run_.ranks == 0)
        fail("no line of ranks", "the lines \"#  Rank 0 … device …\" in front of the table");
      if (run_.ranks == 1)
        fail("1 rank", "at least two: nothing was communicated",
             "build nccl-tests with MPI=1, or run it with -g 2");
      const int first = hosts_.begin()->second;
      const bool even =
          std::all_of(hosts_.begin(), hosts_.end(), [&](const auto& host) { return host.second == first; });
      run_.ranks_per_host = even ? first : 0;
      run_.kind = kind_of_run();
      tests_.push_back(std::move(run_));
    }
    run_ = {};
    ranks_.clear();
    hosts_.clear();
    factors_.clear();
    named_ = nullptr;
  }

  CollectiveKind kind_of_run() const {
    const Program* program = named_ != nullptr ? named_ : spoken_ != nullptr ? spoken_ : file_program_;
    if (program == nullptr)
      fail("a table without its test's name", "the command line in front of it, or a file named after it",
           known_programs());
    const double expected = costmodel::bus_share(program->kind, run_.ranks);
    for (const double factor : factors_) {
      if (std::abs(factor - expected) <= kRounding * expected) continue;
      fail(fmt::format("busbw/algbw {:.3f}", factor),
           fmt::format("{:.3f}, as {} over {} ranks has", expected, program->name, run_.ranks),
           "files or tables were mixed");
    }
    return program->kind;
  }

  static std::string known_programs() {
    std::string text;
    for (const Program& program : kPrograms)
      text += fmt::format("{}{}_perf", text.empty() ? "" : ", ", program.name);
    return "there are " + text;
  }

  const std::string& file_;
  std::string_view text_;
  const Program* file_program_;
  const Program* named_ = nullptr;   // by the table's head
  const Program* spoken_ = nullptr;  // by a command line before it
  int line_ = 0;
  NcclTest run_;
  std::set<std::string> ranks_;
  std::map<std::string, int> hosts_;  // and the ranks on them
  std::vector<double> factors_;
  std::vector<NcclTest> tests_;
};

}  // namespace

std::vector<NcclTest> parse_nccl_tests(std::string_view text, const std::string& file) {
  return Reader{text, file}.read();
}

std::vector<NcclTest> read_nccl_tests(const std::filesystem::path& path) {
  return parse_nccl_tests(read_text_file(path), path.string());
}

}  // namespace hexaplan::presets
