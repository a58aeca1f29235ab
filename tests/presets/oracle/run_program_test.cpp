// Programs that end, fail, hang, flood and are stopped.
#include "presets/oracle/run_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace hexaplan::presets {
namespace {

using costmodel::Seconds;

ProgramRequest shell(const std::string& script) {
  return {
      .words = {"/bin/sh", "-c", script}, .input = {}, .limit = Seconds{20}, .stop = {}, .on_error_line = {}};
}

TEST(run_program, hands_over_stdin_and_takes_stdout) {
  ProgramRequest request = shell("cat; exit 3");
  request.input = std::string(1'000'000, 'x');
  const ProgramRun run = run_program(request);
  EXPECT_EQ(run.end, ProgramEnd::Exited);
  EXPECT_EQ(run.code, 3);
  EXPECT_EQ(run.out, request.input);
}

TEST(run_program, tells_lines_of_stderr_as_they_come) {
  ProgramRequest request = shell("echo one >&2; printf 'two\\nhalf' >&2");
  std::vector<std::string> lines;
  request.on_error_line = [&](std::string_view line) { lines.emplace_back(line); };
  EXPECT_EQ(run_program(request).end, ProgramEnd::Exited);
  EXPECT_THAT(lines, testing::ElementsAre("one", "two", "half"));
}

TEST(run_program, survives_a_program_that_reads_nothing) {
  ProgramRequest request = shell("exit 0");
  request.input = std::string(10'000'000, 'x');
  EXPECT_EQ(run_program(request).end, ProgramEnd::Exited);
}

TEST(run_program, says_what_could_not_be_started) {
  ProgramRequest request = shell("");
  request.words = {"/nowhere/python"};
  const ProgramRun run = run_program(request);
  EXPECT_EQ(run.end, ProgramEnd::NotStarted);
  EXPECT_EQ(run.code, ENOENT);
}

TEST(run_program, says_which_signal_ended_it) {
  const ProgramRun run = run_program(shell("kill -11 $$"));
  EXPECT_EQ(run.end, ProgramEnd::Killed);
  EXPECT_EQ(run.code, SIGSEGV);
}

TEST(run_program, kills_what_takes_too_long_with_all_that_it_started) {
  ProgramRequest request = shell("sleep 100 & sleep 100; true");
  request.limit = Seconds{0.2};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run_program(request).end, ProgramEnd::TimedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{10});
}

TEST(run_program, ends_with_the_program_although_a_child_of_it_lives_on) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run_program(shell("sleep 15 & echo done")).out, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{10});
}

TEST(run_program, is_stopped_from_another_thread) {
  ProgramRequest request = shell("sleep 100");
  std::stop_source stop;
  request.stop = stop.get_token();
  const std::jthread other{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    stop.request_stop();
  }};
  EXPECT_EQ(run_program(request).end, ProgramEnd::Stopped);
}

}  // namespace
}  // namespace hexaplan::presets
