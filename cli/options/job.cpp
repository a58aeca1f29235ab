#include <fmt/format.h>

#include <iterator>

#include "cli/options/command_row.h"
#include "costmodel/units/parse_number.h"

namespace hexaplan::cli {
namespace {

constexpr double kLongestTimeout = 86400;
constexpr int kMostProcesses = 1 << 20;

}  // namespace

double positive_number(const std::string& text, const std::string& flag, double most, const char* expected) {
  const auto value = costmodel::parse_number<double>(text);
  if (!value || !(*value > 0 && *value <= most))
    throw UsageError{fmt::format("{}: got \"{}\", expected {}", flag, text, expected)};
  return *value;
}

void append_job_options(std::vector<OptionRow>& rows, JobWords& words, JobOptions& job) {
  const OptionRow own[] = {
      {"--rank", "R", "With --ranks nccl and no launcher: number of this process", &words.rank},
      {"--world", "N", "How many processes there are", &words.world},
      {"--master", "ADDRESS", "Where process 0 listens: host:port", &job.master},
      {"--timeout", "SECONDS", "How long a rank waits for another before the job is given up. Default: 120",
       &words.timeout},
  };
  rows.insert(rows.end(), std::begin(own), std::end(own));
}

void read_job(const JobWords& words, JobOptions& job) {
  if (!words.rank.empty()) job.rank = whole_number(words.rank, "--rank", kMostProcesses);
  if (!words.world.empty()) job.world = whole_number(words.world, "--world", kMostProcesses);
  if (words.timeout.empty()) return;
  job.timeout = costmodel::Seconds{
      positive_number(words.timeout, "--timeout", kLongestTimeout, "seconds above 0, at most 86400")};
}

}  // namespace hexaplan::cli
