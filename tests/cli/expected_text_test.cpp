// Text that must stay readable, word for word. HEXAPLAN_UPDATE=1 rewrites tests/cli/expected/ after a wanted
// change.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

struct TextCase {
  std::string name;  // of the file
  std::string arguments;
};
class ExpectedText : public testing::TestWithParam<TextCase> {};

TEST_P(ExpectedText, stays_as_it_is) {
  const std::string path =
      std::string{HEXAPLAN_SOURCE_DIR} + "/tests/cli/expected/" + GetParam().name + ".txt";
  const Finished run = run_hexaplan(GetParam().arguments);
  const std::string text = run.out + run.err;
  if (std::getenv("HEXAPLAN_UPDATE") != nullptr) std::ofstream{path, std::ios::binary} << text;
  EXPECT_EQ(text, content_of(path)) << "HEXAPLAN_UPDATE=1 rewrites " << path;
}

INSTANTIATE_TEST_SUITE_P(
    files, ExpectedText,
    testing::Values(
        TextCase{"help", "--help"}, TextCase{"estimate_help", "estimate --help"},
        TextCase{"completion_bash", "completion bash"}, TextCase{"completion_zsh", "completion zsh"},
        TextCase{"completion_fish", "completion fish"},
        TextCase{"rejected_layout",
                 "estimate --model llama-3.1-8b --cluster 8xH100 --seq 4096 --global-batch 8 --layout ep8"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace hexaplan::cli
