#include "tests/validator/communicator/fake_nccl.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "tests/validator/communicator/fake_stream.h"
#include "validator/executor/communicator/device_buffer.h"
#include "validator/executor/communicator/threads/thread_job.h"
#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::validator {
namespace {

/// Ranks that meet: one communicator of all of them together.
struct Circle {
  explicit Circle(int ranks)
      : size{ranks}, job{{.ranks = ranks, .timeout = costmodel::Seconds{3600}}}, group{all_of(ranks)} {
    for (int rank = 0; rank < ranks; ++rank) devices.push_back(make_cpu_device(Element::F64));
  }
  static std::vector<int> all_of(int ranks) {
    std::vector<int> members(static_cast<std::size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    return members;
  }
  int size;
  std::atomic<int> joined{0};
  std::vector<std::unique_ptr<Device>> devices;  // by rank: a device belongs to one thread at a time
  ThreadJob job;
  ThreadGroup group;
};

/// All ranks of a parent on their way into parts.
struct Parting {
  struct Wish {
    int colour, key, rank;
  };
  std::vector<Wish> wishes;
  std::map<int, std::shared_ptr<Circle>> circles;
};

struct FakeCommunicator {
  [[nodiscard]] Device& device() const { return *circle->devices.at(static_cast<std::size_t>(index)); }

  std::shared_ptr<Circle> circle;
  int index = 0;
  // Until a split is complete: who takes part, of how many, and what this rank wishes.
  std::shared_ptr<Parting> parting;
  int expected = 0, colour = 0;
  int splits = 0;
  std::atomic<bool> failed{false};
  FakeStream host_stream;
};

std::mutex registry_mutex;
std::map<std::string, std::shared_ptr<Circle>>& circles() {
  static std::map<std::string, std::shared_ptr<Circle>> all;
  return all;
}
std::map<std::pair<const Circle*, int>, std::shared_ptr<Parting>>& partings() {
  static std::map<std::pair<const Circle*, int>, std::shared_ptr<Parting>> all;
  return all;
}

using Handle = std::shared_ptr<FakeCommunicator>;  // tasks keep it as well

FakeCommunicator& fake(void* handle) {
  return **static_cast<Handle*>(handle);
}

costmodel::DType dtype(int type) {
  constexpr costmodel::DType kTypes[] = {costmodel::DType::Fp64, costmodel::DType::Fp32,
                                         costmodel::DType::Bf16, costmodel::DType::Int32,
                                         costmodel::DType::Fp16, costmodel::DType::Int8};
  return kTypes[type];
}

int run(void* communicator, void* stream, const std::function<void(FakeCommunicator&)>& what) {
  const Handle at = *static_cast<Handle*>(communicator);
  const FakeStream::Task task = [at, what] {
    try {
      what(*at);
    } catch (const RankFault&) {
      at->failed = true;
    }
  };
  if (stream == nullptr) {
    at->host_stream.give(task);
    return kHexaplanNcclUnderWay;
  }
  (*static_cast<StreamHandle*>(stream))->give(task);
  return kHexaplanNcclReady;
}

constexpr Call kCall{.operation = "fake"};

int meet(void* communicator, void* stream, const Post& post) {
  return run(communicator, stream, [post](FakeCommunicator& at) {
    Post mine = post;
    at.circle->job.meet(at.circle->group, at.index, mine, &at.device(), kCall);
  });
}

int make_id(char* id) {
  static std::atomic<std::uint64_t> next{1};
  const std::uint64_t number = next++;
  std::memset(id, 0, kHexaplanNcclIdBytes);
  std::memcpy(id, &number, sizeof number);
  return kHexaplanNcclReady;
}

void* join(const char* id, int rank, int size) {
  const auto made = std::make_shared<FakeCommunicator>();
  const std::scoped_lock lock{registry_mutex};
  std::shared_ptr<Circle>& circle = circles()[std::string{id, kHexaplanNcclIdBytes}];
  if (!circle) circle = std::make_shared<Circle>(size);
  made->circle = circle;
  made->index = rank;
  ++circle->joined;
  return new Handle{made};
}

void* split(void* parent, int colour, int key) {
  const auto made = std::make_shared<FakeCommunicator>();
  FakeCommunicator& from = fake(parent);
  const std::scoped_lock lock{registry_mutex};
  std::shared_ptr<Parting>& parting = partings()[{from.circle.get(), from.splits++}];
  if (!parting) parting = std::make_shared<Parting>();
  parting->wishes.push_back({colour, key, from.index});
  made->parting = parting;
  made->expected = from.circle->size;
  made->colour = colour;
  made->index = from.index;
  return new Handle{made};
}

/// With the registry's lock held and all wishes known.
void part(FakeCommunicator& at) {
  std::vector<Parting::Wish> mine;
  for (const Parting::Wish& wish : at.parting->wishes) {
    if (wish.colour == at.colour) mine.push_back(wish);
  }
  std::sort(mine.begin(), mine.end(), [](const auto& a, const auto& b) {
    return std::pair{a.key, a.rank} < std::pair{b.key, b.rank};
  });
  const auto self = std::find_if(mine.begin(), mine.end(), [&](const auto& w) { return w.rank == at.index; });
  at.index = static_cast<int>(self - mine.begin());
  std::shared_ptr<Circle>& circle = at.parting->circles[at.colour];
  if (!circle) circle = std::make_shared<Circle>(static_cast<int>(mine.size()));
  ++circle->joined;
  at.circle = circle;
}

int state(void* communicator) {
  FakeCommunicator& at = fake(communicator);
  if (at.failed) return kHexaplanNcclFailed;
  const std::scoped_lock lock{registry_mutex};
  if (at.parting) {
    if (static_cast<int>(at.parting->wishes.size()) < at.expected) return kHexaplanNcclUnderWay;
    if (at.colour >= 0) part(at);
    at.parting = nullptr;
  }
  if (at.circle && at.circle->joined < at.circle->size) return kHexaplanNcclUnderWay;
  return at.host_stream.has_done(at.host_stream.given()) ? kHexaplanNcclReady : kHexaplanNcclUnderWay;
}

void release(void* communicator) {
  const std::unique_ptr<Handle> gone{static_cast<Handle*>(communicator)};
  FakeStream& stream = (*gone)->host_stream;
  stream.wait_for(stream.given());
}

void abort_all(void* communicator) {
  FakeCommunicator& at = fake(communicator);
  at.failed = true;
  if (at.circle) at.circle->job.end_rank(at.index, std::make_exception_ptr(std::runtime_error{"aborted"}));
}

int all_reduce(void* communicator, void* stream, void* data, std::int64_t count, int type, int reduction) {
  const Buffer buffer{data, count, dtype(type)};
  return meet(communicator, stream,
              {.kind = MeetingKind::AllReduce,
               .in = buffer,
               .out = buffer,
               .reduction = reduction == kHexaplanNcclSum ? Reduction::Sum : Reduction::Max});
}

int reduce_scatter(void* communicator, void* stream, const void* in, void* out, std::int64_t count, int type,
                   int reduction) {
  return meet(communicator, stream,
              {.kind = MeetingKind::ReduceScatter,
               .in = {in, count * fake(communicator).circle->size, dtype(type)},
               .out = {out, count, dtype(type)},
               .reduction = reduction == kHexaplanNcclSum ? Reduction::Sum : Reduction::Max});
}

int all_gather(void* communicator, void* stream, const void* in, void* out, std::int64_t count, int type) {
  return meet(communicator, stream,
              {.kind = MeetingKind::AllGather,
               .in = {in, count, dtype(type)},
               .out = {out, count * fake(communicator).circle->size, dtype(type)}});
}

int broadcast(void* communicator, void* stream, void* data, std::int64_t count, int type, int root) {
  const Buffer buffer{data, count, dtype(type)};
  return meet(communicator, stream,
              {.kind = MeetingKind::Broadcast, .in = buffer, .out = buffer, .root = root});
}

// Sends of a group come first: what runs as one cannot wait for itself.
struct Group {
  bool open = false;
  void* stream = nullptr;
  std::vector<std::function<void(FakeCommunicator&)>> sends, receives;
};
Group& group() {
  static thread_local Group current;
  return current;
}

int group_begin() {
  group() = {.open = true, .stream = nullptr, .sends = {}, .receives = {}};
  return kHexaplanNcclReady;
}

int group_end(void* communicator) {
  const Group ended = std::move(group());
  group() = {};
  if (ended.sends.empty() && ended.receives.empty()) return kHexaplanNcclReady;
  return run(communicator, ended.stream, [ended](FakeCommunicator& at) {
    for (const auto& send : ended.sends) send(at);
    for (const auto& receive : ended.receives) receive(at);
  });
}

int send(void* communicator, void* stream, const void* data, std::int64_t count, int type, int to) {
  const ConstBuffer buffer{data, count, dtype(type)};
  const auto what = [buffer, to](FakeCommunicator& at) {
    const View source = view_of(buffer);
    const auto message = std::make_shared<Message>();
    message->receiver = to;
    message->copy = at.device().allocate_message(source.element, source.cols);
    at.device().copy(message->copy, source);
    at.circle->job.send(at.circle->group, at.index, to, 0, message, kCall);
  };
  if (!group().open) return run(communicator, stream, what);
  group().stream = stream;
  group().sends.emplace_back(what);
  return kHexaplanNcclReady;
}

int receive(void* communicator, void* stream, void* data, std::int64_t count, int type, int from) {
  const Buffer buffer{data, count, dtype(type)};
  const auto what = [buffer, from](FakeCommunicator& at) {
    Circle& circle = *at.circle;
    const std::uint64_t position = circle.job.expect(circle.group, from, at.index, 0);
    const auto message = circle.job.receive(circle.group, from, at.index, 0, position, buffer.bytes(), kCall);
    at.device().copy(view_of(buffer), message->copy);
    circle.job.read(*message, {});
  };
  if (!group().open) return run(communicator, stream, what);
  group().stream = stream;
  group().receives.emplace_back(what);
  return kHexaplanNcclReady;
}

void* mark(void* stream) {
  return stream == nullptr ? new FakeMark
                           : new FakeMark{FakeMark::at_end_of(*static_cast<StreamHandle*>(stream))};
}

int passed(void* handle) {
  return static_cast<FakeMark*>(handle)->passed() ? kHexaplanNcclReady : kHexaplanNcclUnderWay;
}

void wait(void* stream, void* handle) {
  const FakeMark& mark = *static_cast<FakeMark*>(handle);
  stream == nullptr ? mark.wait() : mark.hold_up(**static_cast<StreamHandle*>(stream));
}

}  // namespace

const HexaplanNccl& fake_nccl() {
  static const HexaplanNccl functions{
      .version = kHexaplanNcclVersion,
      .library = "fake NCCL",
      .gpus = [] { return 64; },
      .adopt = [](void*) -> int { return kHexaplanNcclReady; },
      .free_bytes = []() -> std::int64_t { return 0; },
      .last_error = [] { return "aborted"; },
      .make_id = make_id,
      .join = join,
      .join_unblocked = join,
      .split = split,
      .state = state,
      .release = release,
      .abort = abort_all,
      .all_reduce = all_reduce,
      .reduce_scatter = reduce_scatter,
      .all_gather = all_gather,
      .broadcast = broadcast,
      .group_begin = group_begin,
      .group_end = group_end,
      .send = send,
      .receive = receive,
      .make_stream = []() -> void* { return new StreamHandle{std::make_shared<FakeStream>()}; },
      .release_stream = [](void* stream) { delete static_cast<StreamHandle*>(stream); },
      .mark = mark,
      .passed = passed,
      .wait = wait,
      .release_mark = [](void* handle) { delete static_cast<FakeMark*>(handle); },
      .timed_mark = mark,
      .between = [](void*, void* end) -> double {
        static_cast<FakeMark*>(end)->wait();
        return kFakeMessageTime.value();
      },
  };
  return functions;
}

}  // namespace hexaplan::validator
