#include "tests/validator/communicator/communicator_conformance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <sstream>
#include <utility>

#include "validator/executor/device/bf16.h"

namespace hexaplan::validator {
namespace {

using costmodel::CollectiveKind;
using costmodel::DType;
using costmodel::Group;

constexpr Call kCall{.operation = "test", .dtype = DType::Bf16, .layer = 3};

/// Element `i` of rank `rank`: sums of these are exact in float and int32 alike.
template <class T>
T value_of(int rank, std::int64_t i) {
  return static_cast<T>((rank + 1) * 100 + i % 17);
}

template <class T>
std::vector<T> values_of(int rank, std::int64_t elements, std::int64_t first = 0) {
  std::vector<T> values(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i)
    values[static_cast<std::size_t>(i)] = value_of<T>(rank, first + i);
  return values;
}

template <class T>
std::string differs(const std::vector<T>& got, const std::vector<T>& expected) {
  if (got == expected) return {};
  const auto at = std::mismatch(got.begin(), got.end(), expected.begin(), expected.end());
  std::ostringstream text;
  text << "element " << at.first - got.begin() << " of " << got.size() << " differs";
  if (at.first != got.end() && at.second != expected.end())
    text << ": " << *at.first << ", not " << *at.second;
  return text.str();
}

template <class T>
std::span<T> all(std::vector<T>& values) {
  return values;
}
template <class T>
std::span<const T> all(const std::vector<T>& values) {
  return values;
}

/// First complaint of several checks.
std::string first_of(std::initializer_list<std::string> complaints) {
  for (const std::string& complaint : complaints) {
    if (!complaint.empty()) return complaint;
  }
  return {};
}

/// Result of reducing element i over all ranks.
template <class T>
T reduced(int ranks, std::int64_t i, Reduction reduction) {
  T result = value_of<T>(0, i);
  for (int r = 1; r < ranks; ++r) {
    const T value = value_of<T>(r, i);
    result = reduction == Reduction::Sum ? static_cast<T>(result + value) : std::max(result, value);
  }
  return result;
}

template <class T>
std::string all_reduces(Communicator& world, std::int64_t elements, Reduction reduction) {
  std::vector<T> data = values_of<T>(world.rank(), elements);
  world.all_reduce(all(data), reduction, kCall).wait();
  std::vector<T> expected(data.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] = reduced<T>(world.size(), static_cast<std::int64_t>(i), reduction);
  return differs(data, expected);
}

std::string all_reduce(Communicator& world) {
  return first_of(
      {all_reduces<double>(world, 1, Reduction::Sum), all_reduces<double>(world, 5000, Reduction::Sum),
       all_reduces<float>(world, 3000, Reduction::Max), all_reduces<float>(world, 7, Reduction::Sum),
       all_reduces<std::int32_t>(world, 1025, Reduction::Sum),
       all_reduces<std::int32_t>(world, 2, Reduction::Max), all_reduces<double>(world, 0, Reduction::Sum)});
}

std::string reduce_scatter(Communicator& world) {
  for (const std::int64_t part : {1, 37, 2048}) {
    std::vector<double> in = values_of<double>(world.rank(), part * world.size());
    std::vector<double> expected(static_cast<std::size_t>(part)), out(expected.size());
    for (std::int64_t i = 0; i < part; ++i)
      expected[static_cast<std::size_t>(i)] =
          reduced<double>(world.size(), world.rank() * part + i, Reduction::Sum);
    world.reduce_scatter(all(std::as_const(in)), all(out), Reduction::Sum, kCall).wait();
    const auto own =
        all(in).subspan(static_cast<std::size_t>(world.rank() * part), static_cast<std::size_t>(part));
    world.reduce_scatter(all(std::as_const(in)), own, Reduction::Sum, kCall).wait();
    const std::string wrong =
        first_of({differs(out, expected), differs(std::vector<double>(own.begin(), own.end()), expected)});
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string all_gather(Communicator& world) {
  const std::int64_t part = 33;
  const std::vector<float> in = values_of<float>(world.rank(), part);
  std::vector<float> out(static_cast<std::size_t>(part * world.size())), expected;
  for (int r = 0; r < world.size(); ++r) {
    const std::vector<float> theirs = values_of<float>(r, part);
    expected.insert(expected.end(), theirs.begin(), theirs.end());
  }
  world.all_gather(all(in), all(out), kCall).wait();
  std::vector<float> in_place(out.size());
  const auto own = all(in_place).subspan(static_cast<std::size_t>(world.rank() * part), in.size());
  std::copy(in.begin(), in.end(), own.begin());
  world.all_gather(std::span<const float>{own}, all(in_place), kCall).wait();
  return first_of({differs(out, expected), differs(in_place, expected)});
}

std::string all_to_all(Communicator& world) {
  const std::int64_t part = 5;
  const std::vector<double> in = values_of<double>(world.rank(), part * world.size());
  std::vector<double> out(in.size()), expected;
  for (int r = 0; r < world.size(); ++r) {
    const std::vector<double> theirs = values_of<double>(r, part, world.rank() * part);
    expected.insert(expected.end(), theirs.begin(), theirs.end());
  }
  world.all_to_all(all(in), all(out), kCall).wait();
  return differs(out, expected);
}

/// Rank r sends (r + to) % 3 elements to rank `to`: some parts are empty.
std::string all_to_all_v(Communicator& world) {
  const auto count = [](int from, int to) { return static_cast<std::int64_t>((from + to) % 3); };
  std::vector<std::int64_t> sends, receives;
  std::vector<double> in, expected;
  for (int other = 0; other < world.size(); ++other) {
    sends.push_back(count(world.rank(), other));
    receives.push_back(count(other, world.rank()));
    in.insert(in.end(), static_cast<std::size_t>(sends.back()), world.rank() * 10.0 + other);
    expected.insert(expected.end(), static_cast<std::size_t>(receives.back()), other * 10.0 + world.rank());
  }
  std::vector<double> out(expected.size());
  world.all_to_all_v(all(std::as_const(in)), sends, all(out), receives, kCall).wait();
  return differs(out, expected);
}

/// Numbers that 8 bits hold, sums over ranks included.
std::vector<Bf16> narrow_values(int rank, std::int64_t elements) {
  std::vector<Bf16> values(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i)
    values[static_cast<std::size_t>(i)] = to_bf16(static_cast<float>(rank + 1 + i % 5));
  return values;
}
Buffer narrow(std::vector<Bf16>& values) {
  return {values.data(), static_cast<std::int64_t>(values.size()), DType::Bf16};
}
std::vector<float> widened(const std::vector<Bf16>& narrow_numbers) {
  std::vector<float> values;
  for (const Bf16 x : narrow_numbers) values.push_back(to_float(x));
  return values;
}

std::string bf16(Communicator& world) {
  const std::int64_t part = 6, n = part * world.size();
  std::vector<float> sums(static_cast<std::size_t>(n)), gathered;
  for (int r = 0; r < world.size(); ++r) {
    const std::vector<float> theirs = widened(narrow_values(r, n)), of_part = widened(narrow_values(r, part));
    std::transform(sums.begin(), sums.end(), theirs.begin(), sums.begin(), std::plus<>{});
    gathered.insert(gathered.end(), of_part.begin(), of_part.end());
  }
  std::vector<Bf16> mine = narrow_values(world.rank(), n), own = narrow_values(world.rank(), part);
  std::vector<Bf16> scattered(own.size()), all_parts(mine.size()), exchanged(mine.size());
  world.reduce_scatter(narrow(mine), narrow(scattered), Reduction::Sum, kCall).wait();
  world.all_gather(narrow(own), narrow(all_parts), kCall).wait();
  world.all_to_all(narrow(all_parts), narrow(exchanged), kCall).wait();
  world.all_reduce(narrow(mine), Reduction::Sum, kCall).wait();
  std::vector<Bf16> root = narrow_values(0, n);
  if (world.rank() != 0) root.assign(root.size(), Bf16{});
  world.broadcast(narrow(root), 0, kCall).wait();
  const auto first = sums.begin() + world.rank() * part;
  std::vector<float> back;  // every rank has the same parts, and sends the one of this rank
  for (int r = 0; r < world.size(); ++r)
    back.insert(back.end(), gathered.begin() + world.rank() * part,
                gathered.begin() + (world.rank() + 1) * part);
  return first_of({differs(widened(mine), sums), differs(widened(scattered), {first, first + part}),
                   differs(widened(all_parts), gathered), differs(widened(exchanged), back),
                   differs(widened(root), widened(narrow_values(0, n)))});
}

/// Bytes that are no numbers to a communicator, odd counts of them and all 256.
std::string codes(Communicator& world) {
  const std::int64_t part = 257, n = part * world.size();
  const auto code = [](int rank, std::int64_t i) { return static_cast<std::uint8_t>(41 * rank + i); };
  const auto buffer = [](std::vector<std::uint8_t>& bytes) {
    return Buffer{bytes.data(), static_cast<std::int64_t>(bytes.size()), DType::Int8};
  };
  std::vector<std::uint8_t> own, mine, gathered(static_cast<std::size_t>(n)), exchanged(gathered.size());
  std::vector<std::uint8_t> every, back;
  for (std::int64_t i = 0; i < part; ++i) own.push_back(code(world.rank(), i));
  for (std::int64_t i = 0; i < n; ++i) mine.push_back(code(world.rank(), i));
  for (int r = 0; r < world.size(); ++r) {
    for (std::int64_t i = 0; i < part; ++i) {
      every.push_back(code(r, i));
      back.push_back(code(r, world.rank() * part + i));
    }
  }
  world.all_gather(buffer(own), buffer(gathered), kCall).wait();
  world.all_to_all(buffer(mine), buffer(exchanged), kCall).wait();
  return first_of({differs(gathered, every), differs(exchanged, back)});
}

std::string broadcast(Communicator& world) {
  for (int root = 0; root < world.size(); ++root) {
    std::vector<std::int32_t> data = values_of<std::int32_t>(world.rank(), 19);
    world.broadcast(all(data), root, kCall).wait();
    const std::string wrong = differs(data, values_of<std::int32_t>(root, 19));
    if (!wrong.empty()) return wrong;
  }
  return {};
}

/// Everybody sends first and receives then, much data: no order deadlocks.
std::string send_before_receive(Communicator& world) {
  if (world.size() == 1) return {};
  const int next = (world.rank() + 1) % world.size(),
            previous = (world.rank() + world.size() - 1) % world.size();
  std::vector<double> mine = values_of<double>(world.rank(), 200'000), theirs(mine.size());
  world.send(all(std::as_const(mine)), next, kCall).wait();
  std::fill(mine.begin(), mine.end(), -1);  // the buffer may change once wait() has returned
  world.receive(all(theirs), previous, kCall).wait();
  return differs(theirs, values_of<double>(previous, 200'000));
}

/// Messages stay in order, whichever is waited for first.
std::string messages_in_order(Communicator& world) {
  if (world.size() == 1) return {};
  std::vector<double> first(4), second(4);
  const int last = world.size() - 1;
  if (world.rank() == 0) {
    const auto one = values_of<double>(1, 4), two = values_of<double>(2, 4);
    world.send(all(one), last, kCall, 5).wait();
    world.send(all(two), last, kCall, 5).wait();
  }
  if (world.rank() != last) return {};
  Work earlier = world.receive(all(first), 0, kCall, 5);
  Work later = world.receive(all(second), 0, kCall, 5);
  later.wait();
  earlier.wait();
  return first_of({differs(first, values_of<double>(1, 4)), differs(second, values_of<double>(2, 4))});
}

/// Passes do not hold each other up: the second message is taken first.
std::string passes_apart(Communicator& world) {
  if (world.size() == 1) return {};
  std::vector<double> forward(4), backward(4);
  Call back = kCall;
  back.pass = costmodel::Pass::BackwardData;
  const int last = world.size() - 1;
  if (world.rank() == 0) {
    const auto one = values_of<double>(1, 4), two = values_of<double>(2, 4);
    world.send(all(one), last, kCall, 1).wait();
    world.send(all(two), last, back, 2).wait();
  }
  if (world.rank() != last) return {};
  world.receive(all(backward), 0, back, 2).wait();
  world.receive(all(forward), 0, kCall, 1).wait();
  return first_of({differs(forward, values_of<double>(1, 4)), differs(backward, values_of<double>(2, 4))});
}

/// Tags are told apart, whatever the order of receives.
std::string tags_apart(Communicator& world) {
  if (world.size() == 1) return {};
  std::vector<double> plain(4), tagged(4);
  const int last = world.size() - 1;
  if (world.rank() == 0) {
    const auto one = values_of<double>(1, 4), two = values_of<double>(2, 4);
    world.send(all(one), last, kCall, 5).wait();
    world.send(all(two), last, kCall, 6).wait();
  }
  if (world.rank() != last) return {};
  world.receive(all(tagged), 0, kCall, 6).wait();
  world.receive(all(plain), 0, kCall, 5).wait();
  return first_of({differs(tagged, values_of<double>(2, 4)), differs(plain, values_of<double>(1, 4))});
}

std::string ring_exchange(Communicator& world) {
  if (world.size() == 1) return {};
  const int next = (world.rank() + 1) % world.size(),
            previous = (world.rank() + world.size() - 1) % world.size();
  const std::vector<float> k = values_of<float>(world.rank(), 10), v = values_of<float>(world.rank(), 10, 7);
  std::vector<float> k_in(10), v_in(10);
  const std::array<Outgoing, 2> sends{{{next, all(k)}, {next, all(v)}}};
  const std::array<Incoming, 2> receives{{{previous, all(k_in)}, {previous, all(v_in)}}};
  world.exchange(sends, receives, kCall).wait();
  return first_of(
      {differs(k_in, values_of<float>(previous, 10)), differs(v_in, values_of<float>(previous, 10, 7))});
}

/// Even and odd ranks apart, in reverse order; both talk at once and count under their own group.
std::string split_groups(Communicator& world) {
  std::vector<int> alike = ranks_where(world.size(), [&](int r) { return r % 2 == world.rank() % 2; });
  std::reverse(alike.begin(), alike.end());
  const auto part = world.split(alike, Group::Tensor);
  const int members = (world.size() + 1 - world.rank() % 2) / 2;
  const int expected_rank = members - 1 - world.rank() / 2;
  if (part->size() != members || part->rank() != expected_rank || part->kind() != Group::Tensor)
    return "wrong size, rank or kind";
  double sum = world.rank();
  part->all_reduce(std::span{&sum, 1}, Reduction::Sum, kCall).wait();
  double expected = 0;
  for (int r = world.rank() % 2; r < world.size(); r += 2) expected += r;
  const bool counted =
      world.traffic().of(CollectiveKind::AllReduce, Group::Tensor).messages == (members > 1 ? 1 : 0);
  return sum != expected ? "wrong sum" : counted ? "" : "not counted under its group";
}

/// Groups of one rank, and groups of those: they talk to nobody.
std::string groups_of_one(Communicator& world) {
  const std::array<int, 1> self{world.rank()}, first{0};
  const auto alone = world.split(self, Group::Shard);
  const auto again = alone->split(first, Group::Shard);
  double value = 3;
  again->all_reduce(std::span{&value, 1}, Reduction::Sum, kCall).wait();
  again->barrier("test");
  return again->size() == 1 && value == 3 ? "" : "a group of one changes a number";
}

/// make_group and costmodel::members_of name the same ranks in the same order.
std::string groups_of_the_rank_grid(Communicator& world) {
  costmodel::Layout layout{.dp = world.size()};
  if (world.size() % 4 == 0) layout = {.dp = world.size() / 4, .tp = 2, .pp = 2};
  for (const Group kind : {Group::Tensor, Group::Pipeline, Group::Data, Group::DataContext, Group::World}) {
    const auto group = make_group(world, layout, kind);
    std::vector<std::int32_t> ranks(static_cast<std::size_t>(group->size()));
    const std::int32_t self = world.rank();
    group->all_gather(std::span{&self, 1}, all(ranks), kCall).wait();
    const auto members = costmodel::members_of(layout, kind, world.rank());
    if (!std::equal(ranks.begin(), ranks.end(), members.begin(), members.end()))
      return "group " + std::string{name_of(kind)} + " has other members";
  }
  return {};
}

/// Payloads in the type of the operation list: 24 doubles count as 24 bf16.
std::string counts(Communicator& world) {
  if (world.size() == 1) return {};
  world.clear_traffic();
  const auto n = static_cast<std::int64_t>(world.size());
  std::vector<double> small(static_cast<std::size_t>(24)), large(static_cast<std::size_t>(24 * n));
  world.all_reduce(all(small), Reduction::Sum, kCall).wait();
  world.all_gather(all(std::as_const(small)), all(large), kCall).wait();
  world.reduce_scatter(all(std::as_const(large)), all(small), Reduction::Sum, kCall).wait();
  world.broadcast(all(small), 0, {.operation = "other", .dtype = DType::Fp32}).wait();
  world.barrier("test");
  struct Row {
    CollectiveKind kind;
    double bytes;
  };
  const Row rows[] = {{CollectiveKind::AllReduce, 48},
                      {CollectiveKind::AllGather, 48.0 * static_cast<double>(n)},
                      {CollectiveKind::ReduceScatter, 48.0 * static_cast<double>(n)},
                      {CollectiveKind::Broadcast, 96},
                      {CollectiveKind::SendRecv, 0}};
  for (const Row& row : rows) {
    const TrafficCount count = world.traffic().of(row.kind, Group::World);
    if (count.bytes.value() != row.bytes || count.messages != (row.bytes > 0 ? 1 : 0))
      return std::string{name_of(row.kind)} + " counted wrongly";
  }
  return world.traffic().of("other", costmodel::Pass::Forward).messages == 1 ? ""
                                                                             : "operation counted wrongly";
}

/// Sums that depend on their order come out equal on all ranks, and equal when run again.
std::string equal_everywhere(Communicator& world) {
  const auto run = [&] {
    std::vector<double> data(3000);
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = std::sin(static_cast<double>(i)) * std::pow(10.0, world.rank() % 7);
    world.all_reduce(all(data), Reduction::Sum, kCall).wait();
    return data;
  };
  const std::vector<double> once = run(), again = run();
  std::vector<double> root = once;
  world.broadcast(all(root), 0, kCall).wait();
  return first_of({differs(again, once), differs(once, root)});
}

}  // namespace

const std::vector<ConformanceCase>& conformance_cases() {
  static const std::vector<ConformanceCase> cases = {
      {"all_reduce", all_reduce},
      {"reduce_scatter", reduce_scatter},
      {"all_gather", all_gather},
      {"all_to_all", all_to_all},
      {"all_to_all_v", all_to_all_v},
      {"broadcast", broadcast},
      {"bf16", bf16},
      {"codes", codes},
      {"send_before_receive", send_before_receive},
      {"messages_in_order", messages_in_order},
      {"passes_apart", passes_apart},
      {"tags_apart", tags_apart, true},
      {"ring_exchange", ring_exchange},
      {"split_groups", split_groups},
      {"groups_of_one", groups_of_one},
      {"groups_of_the_rank_grid", groups_of_the_rank_grid},
      {"counts", counts},
      {"equal_everywhere", equal_everywhere},
  };
  return cases;
}

}  // namespace hexaplan::validator
