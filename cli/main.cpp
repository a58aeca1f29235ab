#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/run.h"
#include "presets/json/input_error.h"
#include "validator/measure/store/database.h"

namespace {

using hexaplan::cli::ExitCode;

int fail(ExitCode code, const char* what) {
  fmt::print(stderr, "hexaplan: {}\n", what);
  return static_cast<int>(code);
}

/// A bad value of a flag is a mistake on the command line; anything else is an input that cannot be used.
ExitCode code_of(const hexaplan::presets::InputProblem& problem) {
  const bool flag = problem.file.empty() && problem.field.compare(0, 2, "--") == 0;
  return flag ? ExitCode::Usage : ExitCode::UnusableInput;
}

}  // namespace

int main(int argc, char** argv) try {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is a write that fails, not the end
  std::signal(SIGINT, [](int) { _exit(static_cast<int>(ExitCode::Interrupted)); });
  return static_cast<int>(hexaplan::cli::run(hexaplan::cli::parse_command_line(argc, argv)));
} catch (const hexaplan::cli::UsageError& error) {
  return fail(ExitCode::Usage, error.what());
} catch (const hexaplan::presets::InputError& error) {
  return fail(code_of(error.problem), error.what());
} catch (const hexaplan::validator::StoreError& error) {
  return fail(ExitCode::UnusableInput, error.what());
} catch (const std::bad_alloc&) {
  fmt::print(stderr,
             "hexaplan: out of memory on this host during 'hexaplan {}'; ask for less: fewer micro-batches, "
             "GPUs or candidates\n",
             argc > 1 ? argv[1] : "");
  return static_cast<int>(ExitCode::UnusableInput);
} catch (const std::exception& error) {
  return fail(ExitCode::Internal, error.what());
}
