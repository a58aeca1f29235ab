#include "presets/oracle/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include "presets/json/file_descriptor.h"

namespace hexaplan::presets {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPollMilliseconds = 50;  // how late an end is seen
constexpr std::size_t kBlock = 65536;

struct Pipe {
  FileDescriptor read, write;
};
/// Whose ends no other program inherits; reading never waits.
bool open_pipe(Pipe& pipe) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  pipe = {FileDescriptor{ends[0]}, FileDescriptor{ends[1]}};
  return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
/// A file without a name, at its beginning: a program that ends early breaks no pipe.
std::unique_ptr<std::FILE, CloseFile> file_with(const std::string& text) {
  std::unique_ptr<std::FILE, CloseFile> file{std::tmpfile()};
  if (file == nullptr) return nullptr;
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                       std::fflush(file.get()) == 0 && lseek(fileno(file.get()), 0, SEEK_SET) == 0;
  if (!written) file.reset();
  return file;
}

/// How the program begins: its descriptors, a group of its own, and no signal blocked or ignored.
class Beginning {
 public:
  Beginning(int in, int out, int err) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, err, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t set;
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attributes_, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attributes_, &set);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;
  ~Beginning() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  /// 0, or errno.
  int start(const std::vector<std::string>& words, pid_t& process) const {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    return posix_spawnp(&process, arguments.front(), &actions_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// Takes what is there; false once the other end is closed.
bool read_what_is_there(int descriptor, std::string& into) {
  std::array<char, kBlock> block{};
  for (;;) {
    const ssize_t size = read(descriptor, block.data(), block.size());
    if (size > 0) {
      into.append(block.data(), static_cast<std::size_t>(size));
    } else if (size == 0 || errno != EINTR) {
      return size < 0 && errno == EAGAIN;
    }
  }
}

/// Hands on the whole lines of `text` and leaves the rest; with `all` that as well.
void hand_on_lines(std::string& text, const std::function<void(std::string_view)>& take, bool all) {
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    if (take) take(std::string_view{text}.substr(begin, end - begin));
    begin = end + 1;
  }
  text.erase(0, begin);
  if (all && !text.empty() && take) take(text);
}

/// A started program and what it writes.
class Running {
 public:
  Running(const ProgramRequest& request, pid_t process, FileDescriptor out, FileDescriptor err)
      : request_{request}, process_{process}, out_{std::move(out)}, err_{std::move(err)} {}

  ProgramRun wait() {
    const auto limit = std::chrono::duration<double>{request_.limit.value()};
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
    for (;;) {
      std::array<pollfd, 2> open{pollfd{out_.get(), POLLIN, 0}, pollfd{err_.get(), POLLIN, 0}};
      poll(open.data(), open.size(), kPollMilliseconds);
      int status = 0;
      const bool ended = waitpid(process_, &status, WNOHANG) == process_;
      read_all(ended);
      if (ended) return result_of(status);
      if (request_.stop.stop_requested()) return kill_it(ProgramEnd::Stopped);
      if (result_.out.size() > kMostOutput || lines_.size() > kMostOutput)
        return kill_it(ProgramEnd::Flooded);
      if (Clock::now() > end) return kill_it(ProgramEnd::TimedOut);
    }
  }

 private:
  void read_all(bool ended) {
    // A closed end would wake poll() at once: it is left out, as one below 0 is.
    if (out_.get() >= 0 && !read_what_is_there(out_.get(), result_.out)) out_.reset();
    if (err_.get() >= 0 && !read_what_is_there(err_.get(), lines_)) err_.reset();
    hand_on_lines(lines_, request_.on_error_line, ended);
  }
  ProgramRun result_of(int status) {
    const bool killed = WIFSIGNALED(status);
    result_.end = killed ? ProgramEnd::Killed : ProgramEnd::Exited;
    result_.code = killed ? WTERMSIG(status) : WEXITSTATUS(status);
    return std::move(result_);
  }
  ProgramRun kill_it(ProgramEnd why) {
    kill(-process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    result_.end = why;
    return std::move(result_);
  }

  const ProgramRequest& request_;
  pid_t process_;
  FileDescriptor out_, err_;
  std::string lines_;
  ProgramRun result_;
};

}  // namespace

ProgramRun run_program(const ProgramRequest& request) {
  const auto failed = [] { return ProgramRun{.end = ProgramEnd::NotStarted, .code = errno, .out = {}}; };
  Pipe out, err;
  if (!open_pipe(out) || !open_pipe(err)) return failed();
  const auto input = file_with(request.input);
  if (input == nullptr) return failed();
  pid_t process = 0;
  const Beginning beginning{fileno(input.get()), out.write.get(), err.write.get()};
  if (const int problem = beginning.start(request.words, process); problem != 0)
    return {.end = ProgramEnd::NotStarted, .code = problem, .out = {}};
  out.write.reset();
  err.write.reset();
  return Running{request, process, std::move(out.read), std::move(err.read)}.wait();
}

}  // namespace hexaplan::presets
