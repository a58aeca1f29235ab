#include "presets/calibration/run_calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "presets/json/input_error.h"
#include "presets/scenario/scenario_request.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

namespace fs = std::filesystem;
using costmodel::RunConstant;
using testing::HasSubstr;

constexpr std::size_t at(RunConstant constant) {
  return static_cast<std::size_t>(constant);
}

RunCalibration learned() {
  RunCalibration runs{.gpu = "h100-80-sxm",
                      .framework = "megatron",
                      .curves = {},
                      .source = "3 runs of mine.csv",
                      .date = "2026-11-23"};
  runs.value[at(RunConstant::Products)] = std::log(0.9);
  runs.value[at(RunConstant::Host)] = std::log(1.5);
  runs.told[at(RunConstant::Products)] = runs.told[at(RunConstant::Host)] = true;
  runs.sigma[at(RunConstant::Products)] = runs.sigma[at(RunConstant::Host)] = 0.02;
  return runs;
}

class RunCalibrationFile : public testing::Test {
 protected:
  RunCalibrationFile() { write(to_text(run_calibration_json(learned()))); }
  void write(const std::string& text) const { std::ofstream{path_} << text; }
  [[nodiscard]] CalibratedScenario ask(const std::string& framework, bool with,
                                       const char* cluster = "8xH100") const {
    ScenarioRequest request;
    request.model = "llama-3.2-1b";
    request.cluster = cluster;
    request.framework = framework;
    request.layout = parse_layout("dp8", "layout");
    if (with) request.calibration = path_.string();
    return resolve_calibrated(request);
  }
  tests::TemporaryFolder folder_;
  fs::path path_ = folder_.path() / "runs.json";
};

TEST_F(RunCalibrationFile, is_read_back_as_it_was_written) {
  const auto back = read_run_calibration(path_);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->gpu, "h100-80-sxm");
  EXPECT_EQ(back->told, learned().told);
  for (std::size_t i = 0; i < costmodel::kRunConstantCount; ++i) {
    EXPECT_NEAR(back->value[i], learned().value[i], 1e-4);
    EXPECT_NEAR(back->sigma[i], learned().sigma[i], 1e-4);
  }
}

TEST_F(RunCalibrationFile, corrects_the_curves_and_the_framework_that_ran_and_the_answer_says_so) {
  const CalibratedScenario before = ask("megatron", false), now = ask("megatron", true);
  EXPECT_NEAR(now.calibration.sustained, 0.9 * before.calibration.sustained, 1e-4);
  EXPECT_NEAR(now.calibration.attention_rate, 0.9, 1e-4);
  EXPECT_NEAR(now.scenario.framework.kernel_launch / before.scenario.framework.kernel_launch, 1.5, 1e-3);
  EXPECT_THAT(now.calibration.name, HasSubstr("corrected by runs"));
  EXPECT_THAT(now.calibration.source, HasSubstr("3 runs of mine.csv (2026-11-23)"));
}

TEST_F(RunCalibrationFile, says_nothing_of_another_frameworks_software) {
  const CalibratedScenario before = ask("fsdp2", false), now = ask("fsdp2", true);
  EXPECT_NEAR(now.calibration.sustained, 0.9 * before.calibration.sustained, 1e-4);
  EXPECT_EQ(now.scenario.framework.kernel_launch, before.scenario.framework.kernel_launch);
  EXPECT_THAT(now.notes, testing::Contains("learned with megatron and left out for fsdp2: host time"));
}

TEST_F(RunCalibrationFile, of_another_gpu_is_refused) {
  try {
    (void)ask("megatron", true, "8xA100");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("expected runs on a100-80-sxm, the cluster's GPU"));
  }
}

TEST_F(RunCalibrationFile, that_cannot_be_is_refused_with_its_place) {
  struct Case {
    const char *from, *to, *message;
  };
  for (const auto& [from, to, message] :
       {Case{"\"products\"", "\"product\"", "product"}, Case{"0.9,", "0,", "/constants/products/factor"}}) {
    std::string text = to_text(run_calibration_json(learned()));
    const auto found = text.find(from);
    ASSERT_NE(found, std::string::npos) << from << text;
    write(text.replace(found, std::string{from}.size(), to));
    try {
      (void)read_run_calibration(path_);
      FAIL() << message;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
}

}  // namespace
}  // namespace hexaplan::presets
