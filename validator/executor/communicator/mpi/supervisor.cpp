#include "validator/executor/communicator/mpi/supervisor.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "validator/executor/communicator/mpi/text_field.h"

namespace hexaplan::validator {
namespace {

/// Memory that parent and child share.
struct Page {
  std::array<char, 64> operation, what;
  int rank, layer, microbatch;
  bool inside, finished;
  std::int64_t calls;
};

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): a process has one supervisor, and a signal
// handler is told nothing but the signal
Page* page = nullptr;              // of this process's rank; nullptr: not supervised
std::atomic<pid_t> supervised{0};  // the child, for the signal handler
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void pass_on(int signal) {
  const pid_t child = supervised;
  if (child > 0) kill(child, signal);
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

[[noreturn]] void be_the_rank(pid_t parent, const std::function<int()>& rank) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_FAILURE);  // it died in between
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  const int code = rank();
  page->finished = true;
  std::fflush(nullptr);
  _exit(code);
}

RankDeath death_of(pid_t child, int status) {
  return {.rank = page->rank,
          .host = host_name(),
          .process = child,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          .last = {.rank = page->rank,
                   .operation = page->operation.data(),
                   .what = page->what.data(),
                   .layer = page->layer,
                   .microbatch = page->microbatch,
                   .calls = page->calls,
                   .inside = page->inside}};
}

}  // namespace

std::string RankDeath::text() const {
  const std::string who = rank < 0 ? std::string{"a rank"} : fmt::format("rank {}", rank);
  const std::string how = signal == 0
                              ? std::string{"ended early"}
                              : fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
  const std::string where = last.operation.empty()
                                ? std::string{"before its first communication"}
                                : fmt::format("{} {}", last.inside ? "in" : "after", describe(last));
  return fmt::format("{} (host {}, process {}) {} {}", who, host, process, how, where);
}

void tell_supervisor(const LastCall& call) {
  if (page == nullptr) return;
  page->rank = call.rank;
  page->layer = call.layer;
  page->microbatch = call.microbatch;
  page->calls = call.calls;
  page->inside = call.inside;
  put_text(page->operation, call.operation);
  put_text(page->what, call.what);
}

int run_supervised(const std::function<int()>& rank, const std::function<int(const RankDeath&)>& on_death) {
  void* const memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return rank();
  page = new (memory) Page{};
  page->rank = page->layer = page->microbatch = -1;
  const pid_t parent = getpid();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return rank();
  if (child == 0) be_the_rank(parent, rank);
  supervised = child;
  std::signal(SIGINT, pass_on);
  std::signal(SIGTERM, pass_on);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && (WEXITSTATUS(status) != 0 || page->finished)) return WEXITSTATUS(status);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  // Asked to end before it could listen.
  if (signal == SIGINT || signal == SIGTERM) return 128 + signal;
  return on_death(death_of(child, status));
}

}  // namespace hexaplan::validator
