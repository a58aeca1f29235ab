#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "validator/communicator/threads/thread_job.h"

namespace hexaplan::validator {
namespace {

constexpr std::int64_t kBlock = 1024;  // elements that are summed at a time: 8 KiB of doubles stay in L1

template <class T>
void accumulate(std::span<T> sum, const T* part, Reduction reduction) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const T value = part[i];
    sum[i] = reduction == Reduction::Sum ? static_cast<T>(sum[i] + value) : std::max(sum[i], value);
  }
}

/// Reduces elements [begin, begin + count) of every rank's input and hands each block to `store`.
template <class T, class Store>
void reduce(const std::vector<Post*>& posts, std::int64_t begin, std::int64_t count, const Store& store) {
  std::array<T, kBlock> block{};
  for (std::int64_t done = 0; done < count; done += kBlock) {
    const std::span<T> sum{block.data(), static_cast<std::size_t>(std::min(kBlock, count - done))};
    const std::int64_t at = begin + done;
    const T* first = static_cast<const T*>(posts[0]->in.data) + at;
    std::copy_n(first, sum.size(), sum.begin());
    for (std::size_t r = 1; r < posts.size(); ++r)
      accumulate(sum, static_cast<const T*>(posts[r]->in.data) + at, posts[r]->reduction);
    store(done, std::span<const T>{sum});
  }
}

template <class T>
void all_reduce(const std::vector<Post*>& posts) {
  reduce<T>(posts, 0, posts[0]->in.elements, [&](std::int64_t at, std::span<const T> sum) {
    for (const Post* post : posts) std::copy(sum.begin(), sum.end(), static_cast<T*>(post->out.data) + at);
  });
}

template <class T>
void reduce_scatter(const std::vector<Post*>& posts) {
  for (std::size_t r = 0; r < posts.size(); ++r) {
    const std::int64_t part = posts[r]->out.elements;
    T* out = static_cast<T*>(posts[r]->out.data);
    reduce<T>(posts, static_cast<std::int64_t>(r) * part, part,
              [&](std::int64_t at, std::span<const T> sum) { std::copy(sum.begin(), sum.end(), out + at); });
  }
}

/// Calls `run` with a value of the posts' element type.
template <class Run>
void with_type(costmodel::DType type, const Run& run) {
  switch (type) {
    case costmodel::DType::Fp64:
      return run(double{});
    case costmodel::DType::Fp32:
      return run(float{});
    case costmodel::DType::Int32:
      return run(std::int32_t{});
    default:
      throw std::logic_error{"ranks of threads reduce float64, float32 and int32 only"};
  }
}

std::int64_t element_bytes(costmodel::DType type) {
  return costmodel::bits_per_element(type) / 8;
}

void copy_part(const Post& from, std::int64_t at, const Post& to, std::int64_t to_at, std::int64_t elements) {
  const std::int64_t unit = element_bytes(from.in.type);
  const std::byte* source = static_cast<const std::byte*>(from.in.data) + at * unit;
  std::byte* target = static_cast<std::byte*>(to.out.data) + to_at * unit;
  if (source != target && elements > 0)
    std::memcpy(target, source, static_cast<std::size_t>(elements * unit));
}

void all_gather(const std::vector<Post*>& posts) {
  for (std::size_t r = 0; r < posts.size(); ++r) {
    const std::int64_t part = posts[r]->in.elements;
    for (const Post* to : posts) copy_part(*posts[r], 0, *to, static_cast<std::int64_t>(r) * part, part);
  }
}

void all_to_all(const std::vector<Post*>& posts) {
  std::vector<std::int64_t> filled(posts.size(), 0);  // of every receiver
  for (std::size_t r = 0; r < posts.size(); ++r) {
    std::int64_t sent = 0;
    for (std::size_t to = 0; to < posts.size(); ++to) {
      const std::int64_t part = posts[r]->send_counts[to];
      copy_part(*posts[r], sent, *posts[to], filled[to], part);
      sent += part;
      filled[to] += part;
    }
  }
}

void broadcast(const std::vector<Post*>& posts) {
  const Post& root = *posts[static_cast<std::size_t>(posts[0]->root)];
  for (const Post* to : posts) copy_part(root, 0, *to, 0, root.in.elements);
}

void split(const ThreadGroup& group) {
  std::map<int, std::vector<std::size_t>> by_colour;
  for (std::size_t i = 0; i < group.posts.size(); ++i) by_colour[group.posts[i]->colour].push_back(i);
  for (auto& [colour, indices] : by_colour) {
    std::stable_sort(indices.begin(), indices.end(),
                     [&](std::size_t a, std::size_t b) { return group.posts[a]->key < group.posts[b]->key; });
    std::vector<int> members;
    for (const std::size_t i : indices) members.push_back(group.members[i]);
    const auto part = std::make_shared<ThreadGroup>(std::move(members));
    for (std::size_t i = 0; i < indices.size(); ++i) {
      group.posts[indices[i]]->group = part;
      group.posts[indices[i]]->index = static_cast<int>(i);
    }
  }
}

std::string counts_mismatch(const ThreadGroup& group) {
  for (std::size_t from = 0; from < group.posts.size(); ++from) {
    for (std::size_t to = 0; to < group.posts.size(); ++to) {
      const std::int64_t sent = group.posts[from]->send_counts[to];
      const std::int64_t expected = group.posts[to]->receive_counts[from];
      if (sent != expected) {
        return fmt::format("sends {} elements to rank {}, which expects {}", sent, group.members[to],
                           expected);
      }
    }
  }
  return {};
}

}  // namespace

std::string find_mismatch(const ThreadGroup& group) {
  const Post& first = *group.posts[0];
  const Call& label = group.calls[0];
  const bool sizes_differ_freely = first.kind == MeetingKind::AllToAll;
  for (std::size_t i = 1; i < group.posts.size(); ++i) {
    const Post& post = *group.posts[i];
    const Call& call = group.calls[i];
    const bool same_call = post.kind == first.kind && call.operation == label.operation &&
                           call.layer == label.layer && post.in.type == first.in.type &&
                           post.root == first.root && post.reduction == first.reduction;
    const bool same_size = sizes_differ_freely || post.in.elements == first.in.elements;
    if (same_call && same_size) continue;
    return fmt::format("meets rank {} in {}, layer {}, with {} elements, but brings {}, layer {}, with {}",
                       group.members[i], call.operation, call.layer, post.in.elements, label.operation,
                       label.layer, first.in.elements);
  }
  return first.kind == MeetingKind::AllToAll ? counts_mismatch(group) : std::string{};
}

void carry_out(const ThreadGroup& group) {
  const std::vector<Post*>& posts = group.posts;
  switch (posts[0]->kind) {
    case MeetingKind::AllReduce:
      return with_type(posts[0]->in.type, [&](auto zero) { all_reduce<decltype(zero)>(posts); });
    case MeetingKind::ReduceScatter:
      return with_type(posts[0]->in.type, [&](auto zero) { reduce_scatter<decltype(zero)>(posts); });
    case MeetingKind::AllGather:
      return all_gather(posts);
    case MeetingKind::AllToAll:
      return all_to_all(posts);
    case MeetingKind::Broadcast:
      return broadcast(posts);
    case MeetingKind::Split:
      return split(group);
    case MeetingKind::Barrier:
      return;
  }
}

}  // namespace hexaplan::validator
