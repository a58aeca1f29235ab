#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <list>
#include <map>
#include <set>
#include <thread>

#include "validator/executor/communicator/bootstrap/store_messages.h"

namespace hexaplan::validator {

using namespace store_messages;  // NOLINT(google-build-using-namespace): this file is that protocol's server

namespace {

using SocketClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{20};  // between looks at who has waited too long
constexpr std::chrono::seconds kLeave{2};       // for replies that are still to be sent at the end
constexpr std::size_t kPiece = std::size_t{1} << 16;

/// One rank's connection.
struct Guest {
  Socket socket;
  int rank = -1;  // -1: has not said hello
  bool says_goodbye = false, closed = false;
  Blob in, out;
};

struct Waiting {
  Guest* guest = nullptr;
  SocketClock::time_point deadline;
  double patience = 0;  // seconds
};
struct Meeting {
  std::vector<std::optional<Blob>> brought;
  std::vector<Waiting> waiting;
};

SocketClock::time_point after(double seconds) {
  return SocketClock::now() +
         std::chrono::duration_cast<SocketClock::duration>(std::chrono::duration<double>{seconds});
}

}  // namespace

class StoreServer::Worker {
 public:
  Worker(StoreJob job, int port)
      : job_{std::move(job)}, listening_{listen_on(port)}, wake_{::eventfd(0, EFD_CLOEXEC)} {
    thread_ = std::thread{[this] { run(); }};
  }
  ~Worker() {
    stops_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.descriptor(), &one, sizeof one);
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  [[nodiscard]] const Socket& listening() const { return listening_; }

 private:
  void run();
  void accept_guest();
  void hear(Guest& guest);
  void answer(Guest& guest, Unpacker request);
  void welcome(Guest& guest, Unpacker& request);
  void set(Guest& guest, Unpacker& request);
  void join_meeting(Guest& guest, Unpacker& request);
  void lose(Guest& guest);
  [[nodiscard]] bool is_still_here(const Guest& gone) const;
  void give_up_late_ones();
  void refuse_everybody(const std::string& why);
  void remove_closed();
  [[nodiscard]] std::string missing_from(const Meeting& meeting) const;

  static void reply(Guest& guest, Packer& packer) {
    const Blob& bytes = packer.finish();
    guest.out.insert(guest.out.end(), bytes.begin(), bytes.end());
    flush(guest);
  }
  /// `died`: the rank that is to blame; −1: none.
  static void refuse(Guest& guest, std::string_view why, int died = -1) {
    Packer packer{Reply::Refused};
    reply(guest, packer.text(why).number(std::int32_t{died}));
  }
  static void grant(Guest& guest, std::span<const std::byte> value = {}) {
    Packer packer{Reply::Granted};
    reply(guest, packer.blob(value));
  }
  static void flush(Guest& guest);

  StoreJob job_;
  Socket listening_, wake_;
  std::list<Guest> guests_;  // stay where they are
  std::map<std::string, Blob> values_;
  std::map<std::string, std::vector<Waiting>> getters_;
  std::map<std::string, Meeting> meetings_;
  std::set<int> left_;  // ranks that said goodbye
  std::string lost_;    // why nobody is waited for any more
  int lost_rank_ = -1;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

void StoreServer::Worker::run() {
  std::optional<SocketClock::time_point> ends;
  while (true) {
    std::vector<pollfd> states{{wake_.descriptor(), POLLIN, 0}, {listening_.descriptor(), POLLIN, 0}};
    std::vector<Guest*> order;
    for (Guest& guest : guests_) {
      const int wanted = guest.out.empty() ? POLLIN : POLLIN | POLLOUT;
      states.push_back({guest.socket.descriptor(), static_cast<short>(wanted), 0});
      order.push_back(&guest);
    }
    const bool someone_waits = !getters_.empty() || !meetings_.empty() || stops_;
    ::poll(states.data(), states.size(), someone_waits ? static_cast<int>(kTick.count()) : -1);
    if (stops_ && !ends) ends = SocketClock::now() + kLeave;
    const bool all_said =
        std::all_of(guests_.begin(), guests_.end(), [](const Guest& g) { return g.out.empty(); });
    if (ends && (all_said || SocketClock::now() > *ends)) return;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if ((states[i + 2].revents & POLLOUT) != 0) flush(*order[i]);
      if ((states[i + 2].revents & (POLLIN | POLLHUP | POLLERR)) != 0) hear(*order[i]);
    }
    if ((states[1].revents & POLLIN) != 0) accept_guest();
    remove_closed();
    give_up_late_ones();
  }
}

void StoreServer::Worker::accept_guest() {
  Socket socket{::accept4(listening_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  if (!socket.open()) return;
  guests_.emplace_back().socket = std::move(socket);
}

void StoreServer::Worker::flush(Guest& guest) {
  while (!guest.out.empty() && !guest.closed) {
    const ssize_t sent =
        ::send(guest.socket.descriptor(), guest.out.data(), guest.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent < 0) {
      guest.closed = true;
      guest.out.clear();
      return;
    }
    guest.out.erase(guest.out.begin(), guest.out.begin() + sent);
  }
}

void StoreServer::Worker::hear(Guest& guest) {
  const std::size_t before = guest.in.size();
  guest.in.resize(before + kPiece);
  const ssize_t got = ::recv(guest.socket.descriptor(), guest.in.data() + before, kPiece, MSG_DONTWAIT);
  guest.in.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) guest.closed = true;
  std::uint32_t length = 0;
  while (guest.in.size() >= sizeof length) {
    std::memcpy(&length, guest.in.data(), sizeof length);
    if (length == 0 || length > kLongest) {
      guest.closed = true;  // does not speak our language
      return;
    }
    if (guest.in.size() < sizeof length + length) return;
    const Blob message{guest.in.begin() + sizeof length, guest.in.begin() + sizeof length + length};
    guest.in.erase(guest.in.begin(), guest.in.begin() + sizeof length + length);
    answer(guest, Unpacker{message});
  }
}

void StoreServer::Worker::answer(Guest& guest, Unpacker request) {
  const auto ask = request.number<Ask>();
  if (ask == Ask::Hello) return welcome(guest, request);
  if (guest.rank < 0) {
    guest.closed = true;
    return;
  }
  switch (ask) {
    case Ask::Goodbye:
      guest.says_goodbye = true;
      return;
    case Ask::Set:
      return set(guest, request);
    case Ask::Meet:
      return join_meeting(guest, request);
    default:
      break;
  }
  const std::string key = request.text();
  const auto found = values_.find(key);
  if (found != values_.end()) return grant(guest, found->second);
  if (!lost_.empty()) return refuse(guest, lost_, lost_rank_);
  if (ask == Ask::Find) {
    Packer nothing{Reply::Nothing};
    return reply(guest, nothing);
  }
  const auto patience = request.number<double>();
  getters_[key].push_back({&guest, after(patience), patience});
}

void StoreServer::Worker::welcome(Guest& guest, Unpacker& request) {
  const std::string greeting = request.text(), job = request.text();
  const auto ranks = request.number<std::int32_t>(), rank = request.number<std::int32_t>();
  const std::string run = request.text();
  if (!request.whole() || greeting != kGreeting)
    return refuse(guest, "process 0 runs another version of hexaplan");
  if (job != job_.name) {
    return refuse(guest, fmt::format("process 0 belongs to another job (\"{}\", this one is \"{}\"): "
                                     "choose another port with --master host:port",
                                     job_.name, job));
  }
  // Before the ranks are counted: another run may have others.
  if (run != job_.run) {
    Packer later{Reply::Later};
    return reply(guest, later.text(job_.run));
  }
  if (ranks != job_.ranks || rank < 0 || rank >= ranks) {
    return refuse(
        guest, fmt::format("rank {} of {} cannot join: process 0 counts {} ranks", rank, ranks, job_.ranks));
  }
  guest.rank = rank;
  grant(guest);
}

void StoreServer::Worker::set(Guest& guest, Unpacker& request) {
  const std::string key = request.text();
  const auto value = request.blob();
  values_[key] = Blob{value.begin(), value.end()};
  const auto waiting = getters_.find(key);
  if (waiting != getters_.end()) {
    for (const Waiting& w : waiting->second) grant(*w.guest, value);
    getters_.erase(waiting);
  }
  grant(guest);
}

void StoreServer::Worker::join_meeting(Guest& guest, Unpacker& request) {
  const std::string name = request.text();
  const auto index = request.number<std::int32_t>(), size = request.number<std::int32_t>();
  const auto patience = request.number<double>();
  const auto mine = request.blob();
  if (!lost_.empty()) return refuse(guest, lost_, lost_rank_);
  Meeting& meeting = meetings_[name];
  if (meeting.brought.empty()) meeting.brought.resize(static_cast<std::size_t>(std::max(size, 1)));
  const auto at = static_cast<std::size_t>(index);
  if (meeting.brought.size() != static_cast<std::size_t>(size) || at >= meeting.brought.size() ||
      meeting.brought[at])
    return refuse(guest,
                  fmt::format("rank {} comes to \"{}\" as number {} of {}, which does not fit the others",
                              guest.rank, name, index, size));
  meeting.brought[at] = Blob{mine.begin(), mine.end()};
  meeting.waiting.push_back({&guest, after(patience), patience});
  if (meeting.waiting.size() < meeting.brought.size()) return;
  Packer everything{Reply::Granted};
  for (const auto& part : meeting.brought) everything.blob(*part);
  for (const Waiting& w : meeting.waiting) reply(*w.guest, everything);
  meetings_.erase(name);
}

std::string StoreServer::Worker::missing_from(const Meeting& meeting) const {
  if (static_cast<int>(meeting.brought.size()) != job_.ranks)
    return fmt::format("{} of {} ranks have come", meeting.waiting.size(), meeting.brought.size());
  constexpr std::size_t kNamed = 8;
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < meeting.brought.size(); ++i) {
    if (!meeting.brought[i]) missing.push_back(i);
  }
  const std::size_t more = missing.size() - std::min(missing.size(), kNamed);
  missing.resize(missing.size() - more);
  return fmt::format("rank{} {}{} did not come", missing.size() > 1 ? "s" : "", fmt::join(missing, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

void StoreServer::Worker::give_up_late_ones() {
  const auto now = SocketClock::now();
  const auto is_late = [&](const Waiting& w) { return now > w.deadline; };
  for (auto at = meetings_.begin(); at != meetings_.end();) {
    const auto late = std::find_if(at->second.waiting.begin(), at->second.waiting.end(), is_late);
    if (late == at->second.waiting.end()) {
      ++at;
      continue;
    }
    const std::string why =
        fmt::format("waited {:g} s for {}: {}", late->patience, at->first, missing_from(at->second));
    for (const Waiting& w : at->second.waiting) refuse(*w.guest, why);
    at = meetings_.erase(at);
  }
  for (auto at = getters_.begin(); at != getters_.end();) {
    std::vector<Waiting>& waiting = at->second;
    for (const Waiting& w : waiting) {
      if (is_late(w))
        refuse(*w.guest, fmt::format("waited {:g} s for {}: nobody has set it", w.patience, at->first));
    }
    waiting.erase(std::remove_if(waiting.begin(), waiting.end(), is_late), waiting.end());
    at = waiting.empty() ? getters_.erase(at) : std::next(at);
  }
}

void StoreServer::Worker::refuse_everybody(const std::string& why) {
  for (const auto& [name, meeting] : meetings_) {
    for (const Waiting& w : meeting.waiting) refuse(*w.guest, why, lost_rank_);
  }
  for (const auto& [key, waiting] : getters_) {
    for (const Waiting& w : waiting) refuse(*w.guest, why, lost_rank_);
  }
  meetings_.clear();
  getters_.clear();
}

/// A rank may have several connections and interrupt one of them.
bool StoreServer::Worker::is_still_here(const Guest& gone) const {
  return left_.contains(gone.rank) || std::any_of(guests_.begin(), guests_.end(), [&](const Guest& other) {
           return &other != &gone && other.rank == gone.rank;
         });
}

/// A rank whose last connection ends without a word has died.
void StoreServer::Worker::lose(Guest& guest) {
  const auto is_its = [&](const Waiting& w) { return w.guest == &guest; };
  for (auto& [name, meeting] : meetings_) {
    auto& waiting = meeting.waiting;
    waiting.erase(std::remove_if(waiting.begin(), waiting.end(), is_its), waiting.end());
  }
  for (auto& [key, waiting] : getters_)
    waiting.erase(std::remove_if(waiting.begin(), waiting.end(), is_its), waiting.end());
  if (guest.says_goodbye) left_.insert(guest.rank);
  if (guest.rank < 0 || is_still_here(guest) || !lost_.empty()) return;
  lost_rank_ = guest.rank;
  lost_ = fmt::format("rank {} has gone without a word: it was killed, or lost its host", guest.rank);
  refuse_everybody(lost_);
}

void StoreServer::Worker::remove_closed() {
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    if (!guest->closed) {
      ++guest;
      continue;
    }
    lose(*guest);
    guest = guests_.erase(guest);
  }
}

StoreServer::StoreServer(StoreJob job, int port) : worker_{std::make_unique<Worker>(std::move(job), port)} {}
StoreServer::~StoreServer() = default;

int StoreServer::port() const {
  return port_of(worker_->listening());
}

}  // namespace hexaplan::validator
