// Tables on terminals that are too narrow for them, and nowhere else.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "run_hexaplan.h"

namespace hexaplan::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

/// What the program writes to a terminal with lines of so many cells.
std::string on_terminal(const std::string& arguments, unsigned short columns) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return {};
  const int inner = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  const winsize size{.ws_row = 50, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  (void)ioctl(inner, TIOCSWINSZ, &size);
  const pid_t child = fork();
  if (child == 0) {
    dup2(inner, STDOUT_FILENO);
    const std::string command =
        fmt::format("NO_COLOR=1 LC_ALL=C.UTF-8 exec '{}' {} 2>/dev/null", HEXAPLAN_BINARY, arguments);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  close(inner);
  std::string text;
  char piece[4096];
  for (ssize_t n = read(terminal, piece, sizeof piece); n > 0; n = read(terminal, piece, sizeof piece))
    text.append(piece, static_cast<std::size_t>(n));
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << arguments;
  std::erase(text, '\r');
  return text;
}

/// The line with the heads of the table of plans, and the rows under it.
std::vector<std::string> plan_rows(const std::string& text) {
  std::istringstream lines{text};
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#  layout") || !rows.empty()) rows.push_back(line);
    if (!rows.empty() && line.empty()) break;
  }
  return rows;
}

const std::string kSearch = "search --quiet --model llama-3.1-8b --cluster 8xH100 --tokens 1T --top 4";

TEST(narrow_terminal, rows_of_a_table_stay_within_a_line_and_what_is_left_out_is_named) {
  for (const unsigned short columns : std::initializer_list<unsigned short>{60, 80, 100}) {
    const std::vector<std::string> rows = plan_rows(on_terminal(kSearch, columns));
    ASSERT_GE(rows.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_LE(rows[i].size(), columns) << rows[i];
    EXPECT_THAT(rows[0], HasSubstr("step"));
    EXPECT_THAT(rows[5], HasSubstr(fmt::format("({} cells are too narrow for: closed form, ", columns)));
  }
}

TEST(narrow_terminal, files_and_pipes_get_every_column) {
  const std::string piped = run_hexaplan(kSearch).out;
  for (const char* head : {"tokens/s/GPU", "free", "risk", "goodput", "cost", "closed form"})
    EXPECT_THAT(plan_rows(piped)[0], HasSubstr(head));
  EXPECT_THAT(piped, Not(HasSubstr("too narrow")));
  EXPECT_THAT(on_terminal(kSearch, 250), Not(HasSubstr("too narrow")));
}

}  // namespace
}  // namespace hexaplan::cli
