#include "presets/clusters/network_tiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "costmodel/units/format_units.h"
#include "costmodel/units/parse_number.h"
#include "costmodel/units/parse_units.h"
#include "costmodel/units/trimmed.h"
#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

using costmodel::BytesPerSecond;
using costmodel::ClusterSpec;
using costmodel::Fabric;
using costmodel::NetworkLevel;
using costmodel::Seconds;

constexpr std::string_view kTierWord = "tier:";
constexpr std::int64_t kMostGpusOfTier = 10'000'000;
constexpr RealRange kOversubscription{1, 1000}, kUplink{1e-3, 1e12};
constexpr Seconds kMostTierLatency{1};

InputError tier_error(std::string_view text, std::string expected) {
  return InputError({.field = "cluster", .value = in_quotes(text), .expected = std::move(expected)});
}
InputError tier_error(const NetworkTier& tier, std::string expected, std::string hint = {}) {
  return InputError({.field = "network tier " + in_quotes(tier.name),
                     .value = to_text(tier),
                     .expected = std::move(expected),
                     .hint = std::move(hint)});
}

std::optional<double> number_in(std::string_view text, RealRange range) {
  const auto value = costmodel::parse_number<double>(text);
  return value && range.low <= *value && *value <= range.high ? value : std::nullopt;
}

/// One word behind a tier's name. False: none of them.
bool read_tier_word(std::string_view word, NetworkTier& tier) {
  constexpr std::string_view kGbps = "gbps";
  if (word == "rail") {
    tier.rail_optimised = true;
  } else if (word.starts_with('x')) {
    const auto ratio = number_in(word.substr(1), kOversubscription);
    tier.oversubscription = ratio.value_or(1);
    return ratio && tier.uplink_gbps <= 0;
  } else if (word.ends_with(kGbps)) {
    const auto rate = number_in(word.substr(0, word.size() - kGbps.size()), kUplink);
    tier.uplink_gbps = rate.value_or(0);
    return rate && tier.oversubscription == 1;
  } else if (const auto gpus = costmodel::parse_number<std::int64_t>(word)) {
    tier.gpus = *gpus;
    return 0 < *gpus && *gpus <= kMostGpusOfTier;
  } else {
    const auto latency = costmodel::parse_seconds(word);
    tier.latency = latency.value_or(Seconds{});
    return latency && *latency <= kMostTierLatency;
  }
  return true;
}

bool is_tier_name(std::string_view name) {
  const auto plain = [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= 40 && std::all_of(name.begin(), name.end(), plain);
}

NetworkTier read_tier(const ValueReader& value, std::int64_t per_node) {
  ObjectReader reader = value.object();
  NetworkTier tier;
  const ValueReader name = reader.required("name");
  tier.name = name.text();
  if (!is_tier_name(tier.name)) throw name.error("a name of letters, digits, - and _");
  const auto nodes = reader.optional("nodes"), gpus = reader.optional("gpus");
  if (nodes && gpus) throw gpus->error("nodes or gpus of a unit, not both");
  if (nodes) tier.gpus = nodes->integer({1, kMostGpusOfTier / per_node}) * per_node;
  if (gpus) tier.gpus = gpus->integer({1, kMostGpusOfTier});
  const auto ratio = reader.optional("oversubscription"), uplink = reader.optional("uplink_gbps");
  if (ratio && uplink) throw uplink->error("oversubscription or uplink_gbps, not both");
  if (ratio) tier.oversubscription = ratio->number(kOversubscription);
  if (uplink) tier.uplink_gbps = uplink->number(kUplink);
  if (const auto latency = reader.optional("latency")) {
    tier.latency = latency->seconds();
    if (kMostTierLatency < tier.latency) throw latency->error("at most 1 s");
  }
  if (const auto rail = reader.optional("rail_optimised")) tier.rail_optimised = rail->boolean();
  reader.finish();
  return tier;
}

/// The first tier is what the cards themselves reach.
void check_first(const NetworkTier& tier, bool last, const ClusterSpec& cluster) {
  if (tier.oversubscription != 1 || tier.uplink_gbps > 0 || tier.latency > Seconds{})
    throw tier_error(tier, "of the first tier only its size and whether it is rail-optimised",
                     "its rate is that of the nodes' cards, its latency the network's: "
                     "oversubscription, uplink_gbps and latency belong to the tiers above");
  if (!tier.rail_optimised) return;
  if (last) throw tier_error(tier, "a tier above a rail-optimised one", "messages between rails cross it");
  if (cluster.levels.front().fabric == Fabric::Pcie)
    throw tier_error(tier, "GPUs joined by NVLink in a rail-optimised tier",
                     "messages to other rails take NVLink to the right card first");
}

/// Size, rate and place of a tier above `below`, whose units hold `unit` GPUs.
void check_tier(const NetworkTier& tier, const NetworkTier* below, bool last, std::int64_t unit) {
  if (last != (tier.gpus == 0))
    throw tier_error(tier, last ? "no size of the last tier" : "nodes or gpus of a unit",
                     "every tier but the last, which joins all GPUs, says how many are in one unit of it");
  if (!last && (tier.gpus <= (below != nullptr ? unit : 0) || tier.gpus % unit != 0))
    throw tier_error(tier, fmt::format("whole units below: a multiple of {} GPUs", unit));
  if (below != nullptr && tier.rail_optimised)
    throw tier_error(tier, "rail_optimised of the first tier alone");
}

/// Per GPU of the units below, which have `unit` GPUs.
BytesPerSecond rate_into(const NetworkTier& tier, const NetworkLevel& below, std::int64_t unit) {
  if (tier.uplink_gbps <= 0) return below.bandwidth / tier.oversubscription;
  const BytesPerSecond rate{tier.uplink_gbps * 1e9 / 8 / static_cast<double>(unit)};
  if (below.bandwidth < rate)
    throw tier_error(tier, fmt::format("at most {:g} Gbit/s, what a unit of the tier below carries",
                                       below.bandwidth.value() * 8e-9 * static_cast<double>(unit)));
  return rate;
}

}  // namespace

std::optional<NetworkTier> read_tier_part(std::string_view part, std::string_view whole) {
  std::string_view rest = costmodel::trimmed(part);
  if (!rest.starts_with(kTierWord)) return std::nullopt;
  rest.remove_prefix(kTierWord.size());
  NetworkTier tier;
  for (std::size_t at = 0; at <= rest.size();) {
    const std::size_t end = std::min(rest.find(':', at), rest.size());
    const std::string_view word = rest.substr(at, end - at);
    const bool read = at == 0 ? is_tier_name(word) : read_tier_word(word, tier);
    if (!read)
      throw tier_error(whole,
                       fmt::format("a tier such as +tier:pod:3072, +tier:su:256:rail, +tier:spine:x7:2us or "
                                   "+tier:wan:12800gbps:20ms, not {}",
                                   in_quotes(word)));
    if (at == 0) tier.name = word;
    at = end + 1;
  }
  return tier;
}

std::string to_text(const NetworkTier& tier) {
  std::string text = std::string{kTierWord} + tier.name;
  if (tier.gpus > 0) text += fmt::format(":{}", tier.gpus);
  if (tier.uplink_gbps > 0) text += fmt::format(":{}gbps", tier.uplink_gbps);
  if (tier.uplink_gbps <= 0 && tier.oversubscription != 1) text += fmt::format(":x{}", tier.oversubscription);
  if (tier.latency > Seconds{}) text += fmt::format(":{}s", tier.latency.value());
  return text + (tier.rail_optimised ? ":rail" : "");
}

std::vector<NetworkTier> read_tiers(const ValueReader& list, std::int64_t per_node) {
  std::vector<NetworkTier> tiers;
  for (const ValueReader& value : list.elements()) tiers.push_back(read_tier(value, per_node));
  if (tiers.size() < 2) throw list.error("two tiers or more: one alone is the network without any");
  return tiers;
}

void append_tiers(const std::vector<NetworkTier>& tiers, ClusterSpec& cluster) {
  if (tiers.empty()) return;
  const std::size_t inside = cluster.levels.size() - 1;
  if (tiers.size() < 2 || costmodel::kMostLevels - inside < tiers.size())
    throw tier_error(tiers.front(), fmt::format("2 to {} tiers", costmodel::kMostLevels - inside));
  const NetworkLevel cards = cluster.levels.back();
  cluster.levels.pop_back();
  std::int64_t unit = cluster.levels.back().ranks;
  NetworkLevel below = cards;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const NetworkTier& tier = tiers[i];
    const bool last = i + 1 == tiers.size();
    if (i == 0) check_first(tier, last, cluster);
    check_tier(tier, i == 0 ? nullptr : &tiers[i - 1], last, unit);
    NetworkLevel level = cards;
    level.ranks = last ? cluster.gpus : tier.gpus;
    if (i == 0) {
      level.name += ' ' + tier.name;
      level.rail_optimised = tier.rail_optimised;
    } else {
      level.name = tier.name;
      level.bandwidth = rate_into(tier, below, unit);
      level.latency = tier.latency;
    }
    unit = level.ranks;
    below = level;
    // What lies above the GPUs that there are joins nothing, except rails.
    const bool joins =
        i == 0 || cluster.levels.back().ranks < cluster.gpus || cluster.levels.back().rail_optimised;
    if (!joins) continue;
    level.ranks = std::min(level.ranks, cluster.gpus);
    cluster.levels.push_back(std::move(level));
  }
}

std::string network_text(const ClusterSpec& cluster) {
  const NetworkLevel* cards = network_cards(cluster);
  if (!has_tiers(cluster)) return cards_or_links(cluster).name;
  std::string text = fmt::format("{} of {} GPUs", cards->name, costmodel::format_count(cards->ranks));
  if (cards->rail_optimised) text += " by rails";
  for (const NetworkLevel* tier = cards + 1; tier <= &cluster.levels.back(); ++tier) {
    text += fmt::format(", {} 1:{:.3g}", tier->name, (tier - 1)->bandwidth / tier->bandwidth);
    if (tier->latency > Seconds{}) text += fmt::format(" + {}", costmodel::format_duration(tier->latency));
    if (tier->ranks < cluster.gpus) text += fmt::format(" of {} GPUs", costmodel::format_count(tier->ranks));
  }
  return text;
}

}  // namespace hexaplan::presets
