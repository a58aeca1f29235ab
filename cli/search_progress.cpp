#include "cli/search_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include "cli/exit_code.h"
#include "cli/render/terminal.h"
#include "costmodel/units/format_units.h"

namespace hexaplan::cli {
namespace {

constexpr int kBarWidth = 30;
constexpr double kSmallestChange = 0.01;

// What a signal handler may write to.
std::atomic<bool> interrupted{false};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int /*signal*/) {
  if (interrupted.exchange(true)) _exit(static_cast<int>(ExitCode::Interrupted));
}

}  // namespace

SearchProgressBar::SearchProgressBar(planner::SearchOptions& options, bool quiet)
    : terminal_{!quiet && isatty(STDERR_FILENO) != 0} {
  interrupted = false;
  previous_ = std::signal(SIGINT, on_interrupt);
  options.stop = stop_.get_token();
  options.progress = [this](const planner::SearchProgress& progress) {
    if (interrupted) stop_.request_stop();
    if (terminal_) show(progress);
  };
}

SearchProgressBar::~SearchProgressBar() {
  std::signal(SIGINT, previous_);
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

void SearchProgressBar::show(const planner::SearchProgress& progress) {
  if (drawn_ && progress.share - shown_at_ < kSmallestChange) return;
  shown_at_ = progress.share;
  drawn_ = true;
  const TextStyle style = detect_style(Colour::Never, false);
  fmt::print(stderr, "\rsearching {} {} {} candidates priced (Ctrl-C: best so far)",
             style.bar(progress.share, kBarWidth), costmodel::format_percent(progress.share),
             costmodel::format_count(progress.priced));
  std::fflush(stderr);
}

}  // namespace hexaplan::cli
