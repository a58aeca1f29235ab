#include <memory>

#include "cli/options/command_row.h"

namespace hexaplan::cli {
namespace {

constexpr double kLongestAsking = 86400;  // seconds

struct OracleWords {
  std::string timeout;
  OracleOptions options;
};

Command checked_oracle(OracleWords words) {
  if (!words.timeout.empty()) {
    words.options.timeout = costmodel::Seconds{
        positive_number(words.timeout, "--timeout", kLongestAsking, "seconds above 0, at most a day")};
  }
  return words.options;
}

}  // namespace

CommandRow oracle_row() {
  const auto words = std::make_shared<OracleWords>();
  CommandRow row{
      .name = "oracle",
      .help = "Run the step in PyTorch itself, without a GPU, and compare it tensor by tensor",
      .options = {},
      .finish = [words] { return checked_oracle(*words); },
  };
  append_scenario_options(row.options, words->options.question);
  // Of time and money nothing is compared.
  remove_options(row.options, {"--calibration", "--fabric", "--price", "--framework"});
  row.options.push_back({"--framework", "NAME",
                         "hf-eager, fsdp2, ddp, or a profile that inherits one of them. Default: hf-eager",
                         &words->options.question.framework});
  row.options.push_back({"--python", "PATH",
                         "Python with torch, and with transformers for hf-eager. Default: that of "
                         "$VIRTUAL_ENV, else python3; nothing is installed",
                         &words->options.python});
  row.options.push_back(
      {"--timeout", "SECONDS", "How long the step may take. Default: 600", &words->timeout});
  row.options.push_back({"--save", "FILE",
                         "Keep what the comparison tells as a profile of one's own, for --framework FILE",
                         &words->options.save});
  return row;
}

}  // namespace hexaplan::cli
