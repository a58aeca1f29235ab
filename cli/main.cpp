#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/failure.h"
#include "cli/options.h"
#include "cli/run.h"

int main(int argc, char** argv) try {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is a write that fails, not the end
  std::signal(SIGINT, [](int) { _exit(static_cast<int>(hexaplan::cli::ExitCode::Interrupted)); });
  return static_cast<int>(hexaplan::cli::run(hexaplan::cli::parse_command_line(argc, argv)));
} catch (...) {
  const std::vector<std::string> words{argv + (argc > 0 ? 1 : 0), argv + argc};
  const hexaplan::cli::Failure failure = hexaplan::cli::current_failure(words);
  hexaplan::cli::tell(failure, words);
  return static_cast<int>(failure.code);
}
