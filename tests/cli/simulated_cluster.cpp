#include "tests/cli/simulated_cluster.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "validator/executor/device/cuda/gpu_error.h"

namespace hexaplan::validator {
namespace {

constexpr std::size_t kSlots = 4096;
constexpr int kPatience = 60;  // seconds, of the host's clock

std::map<std::string, std::string> words_of(const char* name) {
  std::map<std::string, std::string> words;
  const char* const text = std::getenv(name);
  std::istringstream in{text == nullptr ? "" : text};
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) words[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return words;
}

/// By address. Of a rank, which is a thread.
std::map<std::uintptr_t, std::int32_t>& integers() {
  static thread_local std::map<std::uintptr_t, std::int32_t> all;
  return all;
}
std::uintptr_t address_of(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at);  // NOLINT(*-reinterpret-cast): nobody looks behind it
}

SimulatedCluster read_cluster() {
  const auto words = words_of("HEXAPLAN_SIMULATED");
  const auto number = [&](const char* name, double otherwise) {
    const auto found = words.find(name);
    return found == words.end() ? otherwise : std::stod(found->second);
  };
  SimulatedCluster cluster;
  const auto folder = words.find("folder");
  if (folder != words.end()) cluster.folder = folder->second;
  cluster.per_node = static_cast<int>(number("per_node", 1));
  cluster.node = {number("node_us", 3) * 1e-6, number("node_GBps", 300) * 1e9};
  cluster.network = {number("network_us", 15) * 1e-6, number("network_GBps", 40) * 1e9};
  cluster.contention = number("contention", 0);
  cluster.pairs = number("pairs", 1);
  cluster.exchange = number("exchange", 1);
  cluster.beside = number("beside", 1);
  cluster.sustained = number("sustained", 0.9);
  cluster.slow = static_cast<int>(number("slow", -1));
  cluster.other = static_cast<int>(number("other", -1));
  cluster.slowness = number("slowness", 1);
  cluster.failing = static_cast<int>(number("failing", 0));
  const auto fails = words.find("fails");
  if (fails != words.end()) {
    const std::size_t colon = fails->second.find(':');
    cluster.failing_call = fails->second.substr(0, colon);
    cluster.failing_code = fails->second.substr(colon + 1);
  }
  return cluster;
}

int number_in_environment(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);
}

class Locked {
 public:
  explicit Locked(pthread_mutex_t& mutex) : mutex_{mutex} { pthread_mutex_lock(&mutex_); }
  ~Locked() { pthread_mutex_unlock(&mutex_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace

const SimulatedCluster& simulated_cluster() {
  static const SimulatedCluster cluster = read_cluster();
  return cluster;
}

void fail_if_told(const char* call, int gpu) {
  const SimulatedCluster& cluster = simulated_cluster();
  if (cluster.failing_call != call || cluster.failing != simulated_process()) return;
  const std::string& code = cluster.failing_code;
  constexpr std::pair<const char*, const char*> kLibraries[] = {
      {"CUBLAS", "cuBLASLt"}, {"CUDNN", "cuDNN"}, {"nccl", "NCCL"}, {"", "CUDA"}};
  const auto* const library = std::find_if(std::begin(kLibraries), std::end(kLibraries),
                                           [&](const auto& row) { return code.starts_with(row.first); });
  throw GpuError{
      {.library = library->second, .call = call, .code = code, .message = "simulated", .gpu = gpu}};
}

int simulated_process() {
  return number_in_environment("RANK");
}
double& messages_under_way() {
  static thread_local double until = 0;
  return until;
}
void write_integers(const void* at, std::span<const std::int32_t> numbers) {
  std::uintptr_t address = address_of(at);
  for (const std::int32_t number : numbers) {
    integers()[address] = number;
    address += sizeof number;
  }
}
std::vector<std::int32_t> integers_at(const void* at, std::size_t count) {
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = integers().find(address_of(at) + i * sizeof(std::int32_t));
    numbers.push_back(found == integers().end() ? 0 : found->second);
  }
  return numbers;
}
void forget_integers(const void* at, std::size_t bytes) {
  const auto first = integers().lower_bound(address_of(at));
  integers().erase(first, integers().lower_bound(address_of(at) + bytes));
}
int simulated_host() {
  return number_in_environment("GROUP_RANK");
}

std::uint64_t mixed(std::span<const std::uint64_t> numbers) {
  std::uint64_t hash = 0x9E3779B97F4A7C15U;
  for (std::uint64_t number : numbers) {  // splitmix64's finaliser, chained
    hash ^= number + 0x9E3779B97F4A7C15U + (hash << 6) + (hash >> 2);
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9U;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBU;
    hash ^= hash >> 31;
  }
  return hash == 0 ? 1 : hash;
}

struct MeetingPlace::Slot {
  std::uint64_t key;  // 0: free
  int size, arrived, left;
  double latest;
  std::int64_t values[kMostRanks];
};
struct MeetingPlace::Shared {
  bool ready;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  Slot slots[kSlots];
};

MeetingPlace& MeetingPlace::here() {
  static MeetingPlace place;
  return place;
}

MeetingPlace::MeetingPlace() {
  const std::string path = simulated_cluster().folder + "/meetings";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || flock(file, LOCK_EX) != 0) throw std::runtime_error{path + " cannot be used"};
  if (ftruncate(file, sizeof(Shared)) != 0) throw std::runtime_error{path + " has no room"};
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw std::runtime_error{path + " cannot be mapped"};
  shared_ = static_cast<Shared*>(memory);
  if (!shared_->ready) {
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared_->mutex, &mutex);
    pthread_condattr_t condition;
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared_->changed, &condition);
    shared_->ready = true;
  }
  flock(file, LOCK_UN);
  close(file);
}

MeetingPlace::Slot& MeetingPlace::slot(std::uint64_t key) {
  Slot* const end = shared_->slots + kSlots;
  Slot* found = std::find_if(shared_->slots, end, [key](const Slot& s) { return s.key == key; });
  if (found != end) return *found;
  found = std::find_if(shared_->slots, end, [](const Slot& s) { return s.key == 0; });
  if (found == end) throw std::runtime_error{"too many meetings at once"};
  *found = {};
  found->key = key;
  return *found;
}

void MeetingPlace::wait_for(const Slot& slot, const std::atomic<bool>& given_up) {
  constexpr long kLook = 100'000'000;  // nanoseconds
  for (int look = 0; slot.size == 0 || slot.arrived < slot.size; ++look) {
    if (given_up) throw std::runtime_error{"aborted"};
    if (look > kPatience * 10)
      throw std::runtime_error{"the other ranks of a simulated message did not come"};
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += kLook;
    if (until.tv_nsec >= 1'000'000'000) {
      until.tv_nsec -= 1'000'000'000;
      ++until.tv_sec;
    }
    if (pthread_cond_timedwait(&shared_->changed, &shared_->mutex, &until) != ETIMEDOUT) --look;
  }
}

void MeetingPlace::announce(std::uint64_t key, int size, int index, double time, std::int64_t value) {
  const Locked lock{shared_->mutex};
  Slot& at = slot(key);
  at.size = size;
  at.latest = std::max(at.latest, time);
  at.values[index] = value;
  ++at.arrived;
  pthread_cond_broadcast(&shared_->changed);
}

bool MeetingPlace::complete(std::uint64_t key, Result& result) {
  const Locked lock{shared_->mutex};
  const Slot& at = slot(key);
  if (at.size == 0 || at.arrived < at.size) return false;
  result = {at.latest, {at.values, at.values + at.size}};
  return true;
}

MeetingPlace::Result MeetingPlace::meet(std::uint64_t key, int size, int index, double time,
                                        const std::atomic<bool>& given_up, std::int64_t value) {
  announce(key, size, index, time, value);
  const Locked lock{shared_->mutex};
  Slot& at = slot(key);
  wait_for(at, given_up);
  Result result{at.latest, {at.values, at.values + at.size}};
  if (++at.left == at.size) at.key = 0;
  return result;
}

double MeetingPlace::take(std::uint64_t key, const std::atomic<bool>& given_up) {
  const Locked lock{shared_->mutex};
  Slot& at = slot(key);
  wait_for(at, given_up);
  at.key = 0;
  return at.latest;
}

}  // namespace hexaplan::validator
