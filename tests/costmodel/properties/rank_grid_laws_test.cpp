#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "costmodel/spec/rank_grid.h"
#include "tests/support/random_scenario.h"

namespace hexaplan::costmodel {
namespace {

/// A layout small enough to look at every rank.
rc::Gen<Scenario> small_scenario() {
  return rc::gen::suchThat(support::any_scenario(),
                           [](const Scenario& s) { return s.layout.world_size() <= 64; });
}
Group any_group() {
  return static_cast<Group>(*rc::gen::inRange(0, kLayoutGroups));
}

RC_GTEST_PROP(rank_grid_laws, every_rank_has_coordinates_of_its_own, ()) {
  const Scenario s = *small_scenario();
  std::set<std::array<std::int64_t, 4>> seen;
  for (std::int64_t rank = 0; rank < s.layout.world_size(); ++rank) {
    const auto c = coordinates_of(s.layout, rank);
    const auto at = [&c](Axis axis) { return c[static_cast<std::size_t>(axis)]; };
    seen.insert({at(Axis::Tensor), at(Axis::Context), at(Axis::Data), at(Axis::Pipeline)});
  }
  RC_ASSERT(static_cast<std::int64_t>(seen.size()) == s.layout.world_size());
}

RC_GTEST_PROP(rank_grid_laws, groups_of_a_kind_partition_the_world, ()) {
  const Scenario s = *small_scenario();
  const Group group = any_group();
  std::vector<int> owners(static_cast<std::size_t>(s.layout.world_size()), 0);
  for (std::int64_t rank = 0; rank < s.layout.world_size(); ++rank) {
    const auto members = members_of(s.layout, group, rank);
    RC_ASSERT(static_cast<std::int64_t>(members.size()) == group_size(s.layout, group));
    RC_ASSERT(std::find(members.begin(), members.end(), rank) != members.end());
    for (const std::int64_t member : members) {
      RC_ASSERT(member >= 0);
      RC_ASSERT(member < s.layout.world_size());
      RC_ASSERT(members_of(s.layout, group, member) == members);
      ++owners[static_cast<std::size_t>(member)];
    }
  }
  // Each rank was named once by each member of its group.
  RC_ASSERT(
      std::all_of(owners.begin(), owners.end(), [&](int n) { return n == group_size(s.layout, group); }));
}

RC_GTEST_PROP(rank_grid_laws, placement_counts_the_members_inside_each_level, ()) {
  const Scenario s = *small_scenario();
  const Group group = any_group();
  const GroupPlacement place = place_group(s.layout, group, s.cluster);
  const auto members = members_of(s.layout, group, 0);
  RC_ASSERT(place.ranks == static_cast<std::int64_t>(members.size()));
  RC_ASSERT(place.levels >= 1);
  RC_ASSERT(place.sharing >= 1);
  for (std::size_t level = 0; level < s.cluster.levels.size(); ++level) {
    const std::int64_t unit = s.cluster.levels[level].ranks;
    const auto inside =
        std::count_if(members.begin(), members.end(), [&](std::int64_t m) { return m < unit; });
    RC_ASSERT(place.within[level] == inside);
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
