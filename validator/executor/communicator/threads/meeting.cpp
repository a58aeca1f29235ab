#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "validator/executor/communicator/device_buffer.h"
#include "validator/executor/communicator/threads/thread_job.h"

namespace hexaplan::validator {
namespace {

using Posts = std::vector<Post*>;

std::vector<View> inputs(const Posts& posts, std::int64_t begin, std::int64_t count) {
  std::vector<View> parts;
  for (const Post* post : posts) parts.push_back(view_of(post->in).slice(begin, count));
  return parts;
}

void copy_part(Device& device, const Post& from, std::int64_t at, const Post& to, std::int64_t to_at,
               std::int64_t elements) {
  const View source = view_of(from.in).slice(at, elements);
  const View target = view_of(to.out).slice(to_at, elements);
  if (source.data != target.data && elements > 0) device.copy(target, source, Stream::Communication);
}

/// The first rank's buffer takes the sum.
void all_reduce(Device& device, const Posts& posts) {
  const std::int64_t elements = posts[0]->in.elements;
  if (elements == 0) return;
  const View sum = view_of(posts[0]->out);
  device.reduce_parts(inputs(posts, 0, elements), posts[0]->reduction, sum, Stream::Communication);
  for (const Post* post : posts) {
    if (post != posts[0]) device.copy(view_of(post->out), sum, Stream::Communication);
  }
}

void reduce_scatter(Device& device, const Posts& posts) {
  for (std::size_t r = 0; r < posts.size(); ++r) {
    const std::int64_t part = posts[r]->out.elements;
    if (part == 0) continue;
    device.reduce_parts(inputs(posts, static_cast<std::int64_t>(r) * part, part), posts[r]->reduction,
                        view_of(posts[r]->out), Stream::Communication);
  }
}

void all_gather(Device& device, const Posts& posts) {
  for (std::size_t r = 0; r < posts.size(); ++r) {
    const std::int64_t part = posts[r]->in.elements;
    for (const Post* to : posts)
      copy_part(device, *posts[r], 0, *to, static_cast<std::int64_t>(r) * part, part);
  }
}

void all_to_all(Device& device, const Posts& posts) {
  std::vector<std::int64_t> filled(posts.size(), 0);  // of every receiver
  for (std::size_t r = 0; r < posts.size(); ++r) {
    std::int64_t sent = 0;
    for (std::size_t to = 0; to < posts.size(); ++to) {
      const std::int64_t part = posts[r]->send_counts[to];
      copy_part(device, *posts[r], sent, *posts[to], filled[to], part);
      sent += part;
      filled[to] += part;
    }
  }
}

void broadcast(Device& device, const Posts& posts) {
  const Post& root = *posts[static_cast<std::size_t>(posts[0]->root)];
  for (const Post* to : posts) copy_part(device, root, 0, *to, 0, root.in.elements);
}

void split(const ThreadGroup& group) {
  std::map<std::vector<int>, std::shared_ptr<ThreadGroup>> parts;
  for (Post* post : group.posts) {
    std::vector<int> members;
    for (const int i : post->members) members.push_back(group.members[static_cast<std::size_t>(i)]);
    std::shared_ptr<ThreadGroup>& part = parts[members];
    if (!part) part = std::make_shared<ThreadGroup>(members);
    post->group = part;
  }
}

void gather_bytes(const Posts& posts) {
  for (Post* to : posts) {
    for (const Post* from : posts) to->gathered.emplace_back(from->bytes.begin(), from->bytes.end());
  }
}

/// Every member of a list has to bring the same list.
std::string lists_mismatch(const ThreadGroup& group) {
  for (const Post* post : group.posts) {
    for (const int member : post->members) {
      const auto theirs = group.posts[static_cast<std::size_t>(member)]->members;
      if (!std::equal(theirs.begin(), theirs.end(), post->members.begin(), post->members.end()))
        return fmt::format("and rank {} list different members of a new group",
                           group.members[static_cast<std::size_t>(member)]);
    }
  }
  return {};
}

std::string counts_mismatch(const ThreadGroup& group) {
  for (std::size_t from = 0; from < group.posts.size(); ++from) {
    for (std::size_t to = 0; to < group.posts.size(); ++to) {
      const std::int64_t sent = group.posts[from]->send_counts[to];
      const std::int64_t expected = group.posts[to]->receive_counts[from];
      if (sent == expected) continue;
      return fmt::format("sends {} elements to rank {}, which expects {}", sent, group.members[to], expected);
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
  if (first.kind == MeetingKind::Split) return lists_mismatch(group);
  return first.kind == MeetingKind::AllToAll ? counts_mismatch(group) : std::string{};
}

void carry_out(const ThreadGroup& group, Device* device) {
  const Posts& posts = group.posts;
  switch (posts[0]->kind) {
    case MeetingKind::Barrier:
      return;
    case MeetingKind::Split:
      return split(group);
    case MeetingKind::GatherBytes:
      return gather_bytes(posts);
    default:
      break;
  }
  for (const Post* post : posts) device->wait(Stream::Communication, post->ready);
  using Move = void (*)(Device&, const Posts&);
  constexpr std::array<Move, 5> kMoves = {all_reduce, reduce_scatter, all_gather, all_to_all, broadcast};
  kMoves[static_cast<std::size_t>(posts[0]->kind)](*device, posts);
  const Event done = device->record(Stream::Communication);
  for (Post* post : posts) post->done = done;
}

}  // namespace hexaplan::validator
