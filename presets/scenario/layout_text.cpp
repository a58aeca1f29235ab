#include "presets/scenario/layout_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "costmodel/spec/axes_text.h"
#include "costmodel/units/nearest_name.h"
#include "costmodel/units/parse_number.h"
#include "presets/json/utf8.h"
#include "presets/json/vocabulary.h"

namespace hexaplan::presets {

using costmodel::Axis;
using costmodel::Layout;
using costmodel::Sharding;
using costmodel::StageSplit;

namespace {

constexpr int kMaxDegree = 1'000'000;
constexpr std::int64_t kMaxWorld = 10'000'000;

/// A word with a number behind it. Words of one slot exclude each other.
struct Degree {
  std::string_view name;
  std::string_view slot;
  int low = 1;
  int high = kMaxDegree;
  void (*set)(LayoutRequest&, int) = nullptr;
};
constexpr Degree kDegrees[] = {
    {"dp", "dp", 1, kMaxDegree, [](LayoutRequest& r, int n) { r.layout.dp = n, r.dp_given = true; }},
    {"diloco", "diloco", 1, kMaxDegree, [](LayoutRequest& r, int n) { r.layout.outer_replicas = n; }},
    {"tp", "tp", 1, kMaxDegree, [](LayoutRequest& r, int n) { r.layout.tp = n; }},
    {"cp", "cp", 1, kMaxDegree, [](LayoutRequest& r, int n) { r.layout.cp = n; }},
    {"pp", "pp", 1, kMaxDegree, [](LayoutRequest& r, int n) { r.layout.pp = n; }},
    {"vpp", "vpp", 1, kMaxDegree, [](LayoutRequest& r, int n) { r.layout.vpp = n; }},
    {"ep", "ep", 1, kMaxDegree, [](LayoutRequest& r, int n) { r.layout.ep = n; }},
    {"etp", "etp", 1, kMaxDegree, [](LayoutRequest& r, int n) { r.layout.etp = n; }},
    {"zero", "zero", 0, 3, [](LayoutRequest& r, int n) { r.layout.sharding.stage = n; }},
    {"hsdp", "zero", 1, kMaxDegree,
     [](LayoutRequest& r, int n) { r.layout.sharding.stage = 3, r.layout.sharding.group = n; }},
    {"shard", "shard", 1, kMaxDegree, [](LayoutRequest& r, int n) { r.layout.sharding.group = n; }},
    {"hpz", "hpz", 1, kMaxDegree, [](LayoutRequest& r, int n) { r.layout.sharding.hpz = n; }},
};

/// A word that stands alone.
struct Word {
  std::string_view name;
  std::string_view slot;
  void (*set)(Layout&) = nullptr;
  bool fsdp = false;
};
constexpr Word kWords[] = {
    {"sp", "sp", [](Layout& l) { l.sp = true; }},
    {"ddp", "zero", [](Layout& l) { l.sharding.stage = 0; }},
    {"fsdp", "zero", [](Layout& l) { l.sharding.stage = 3; }, true},
    {"qwz", "qwz", [](Layout& l) { l.sharding.quantized_weights = true; }},
    {"qgz", "qgz", [](Layout& l) { l.sharding.quantized_gradients = true; }},
    {"partition-activations", "partition-activations", [](Layout& l) { l.partition_activations = true; }},
};

/// A word that is the name of an enum's value.
template <class E>
struct Choice {
  std::string_view slot;
  std::span<const Named<E>> names;
  E Layout::*member;
};
template <class F>
void for_each_choice(F&& f) {
  f(Choice<costmodel::ScheduleKind>{"schedule", kScheduleNames, &Layout::schedule});
  f(Choice<costmodel::ContextKind>{"context", kContextNames, &Layout::context});
  f(Choice<StageSplit>{"split", kSplitNames, &Layout::split});
  f(Choice<costmodel::VocabParallel>{"vocab", kVocabNames, &Layout::vocab});
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) return parts;
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

/// Collects words into a request; every error names the field the text came from.
class LayoutBuilder {
 public:
  explicit LayoutBuilder(std::string_view field) : field_{field} {}

  void add(std::string_view token) {
    token_ = token;
    if (add_word(token)) return;
    const std::size_t equals = token.find('=');
    const std::size_t digits = std::min(token.find_first_of("-0123456789"), token.size());
    const std::string_view name = token.substr(0, std::min(equals, digits));
    const std::string_view value = token.substr(equals == std::string_view::npos ? digits : equals + 1);
    if (name == "stages") return add_stages(value);
    if (name == "order") return add_order(value);
    if (!add_degree(name, value)) {
      fail("a layout word such as tp8, pp4, zero1 or sp",
           did_you_mean(costmodel::nearest_name(name, known_layout_words())));
    }
  }

  [[nodiscard]] LayoutRequest finish() {
    std::int64_t world = 1;
    for (const int degree : {request_.layout.outer_replicas, request_.layout.dp, request_.layout.tp,
                             request_.layout.cp, request_.layout.pp}) {
      world = world * degree;
      if (world > kMaxWorld) {
        throw InputError{{.field = std::string{field_},
                          .value = "a world of more than 10 million ranks",
                          .expected = costmodel::axes_text(request_.layout) + " of at most 10,000,000"}};
      }
    }
    if (request_.layout.vpp > 1 && !used("schedule"))
      request_.layout.schedule = costmodel::ScheduleKind::Interleaved;
    return request_;
  }

 private:
  bool add_word(std::string_view token) {
    for (const Word& word : kWords) {
      if (word.name != token) continue;
      claim(word.slot);
      word.set(request_.layout);
      request_.fsdp = request_.fsdp || word.fsdp;
      return true;
    }
    bool found = false;
    for_each_choice([&](const auto& choice) {
      for (const auto& row : choice.names) {
        if (found || row.name != token) continue;
        claim(choice.slot);
        request_.layout.*choice.member = row.value;
        found = true;
      }
    });
    return found;
  }

  bool add_degree(std::string_view name, std::string_view value) {
    for (const Degree& degree : kDegrees) {
      if (degree.name != name) continue;
      const auto n = costmodel::parse_number<int>(value);
      if (!n || *n < degree.low || *n > degree.high) {
        fail(fmt::format("{} with a whole number from {} to {}", name, degree.low, degree.high));
      }
      claim(degree.slot);
      degree.set(request_, *n);
      return true;
    }
    return false;
  }

  void add_stages(std::string_view value) {
    claim("split");
    request_.layout.split = StageSplit::Explicit;
    for (const std::string_view part : split(value, "/")) {
      const auto layers = costmodel::parse_number<int>(part);
      if (!layers || *layers < 0 || *layers > kMaxDegree)
        fail("stages with layers per chunk, as in stages=4/5/5/4");
      request_.layout.stage_layers.push_back(*layers);
    }
    if (request_.layout.stage_layers.empty()) fail("stages with layers per chunk, as in stages=4/5/5/4");
  }

  void add_order(std::string_view value) {
    claim("order");
    const auto parts = split(value, "/");
    std::vector<Axis> axes;
    for (const std::string_view part : parts) {
      const auto axis = value_in(kOrderNames, part);
      if (axis && std::find(axes.begin(), axes.end(), *axis) == axes.end()) axes.push_back(*axis);
    }
    if (axes.size() != 4 || parts.size() != 4) fail("each of tp, cp, dp, pp once, as in order=tp/cp/dp/pp");
    std::copy(axes.begin(), axes.end(), request_.layout.order.begin());
  }

  [[nodiscard]] bool used(std::string_view slot) const {
    return std::find(used_.begin(), used_.end(), slot) != used_.end();
  }
  void claim(std::string_view slot) {
    if (used(slot)) fail(fmt::format("{} only once", slot));
    used_.push_back(slot);
  }
  [[noreturn]] void fail(std::string expected, std::string hint = {}) const {
    throw InputError{{.field = std::string{field_},
                      .value = in_quotes(token_),
                      .expected = std::move(expected),
                      .hint = std::move(hint)}};
  }

  std::string_view field_;
  std::string_view token_;
  LayoutRequest request_;
  std::vector<std::string_view> used_;
};

void append_sharding(const Sharding& sharding, bool fsdp, std::vector<std::string>& words) {
  const bool hybrid = sharding.stage == 3 && sharding.group > 0;
  if (hybrid) {
    words.push_back(fmt::format("hsdp{}", sharding.group));
  } else if (sharding.stage == 3 && fsdp) {
    words.emplace_back("fsdp");
  } else if (sharding.stage > 0) {
    words.push_back(fmt::format("zero{}", sharding.stage));
  }
  if (sharding.group > 0 && !hybrid) words.push_back(fmt::format("shard{}", sharding.group));
  if (sharding.hpz > 0) words.push_back(fmt::format("hpz{}", sharding.hpz));
  if (sharding.quantized_weights) words.emplace_back("qwz");
  if (sharding.quantized_gradients) words.emplace_back("qgz");
}

/// One member of the object form, as the words of the string form that say the same.
std::string words_of_member(std::string_view key, const ValueReader& value) {
  if (const auto* flag = value.json().get_if<bool>()) return *flag ? std::string{key} : std::string{};
  if (key == "stages") return fmt::format("stages={}", fmt::join(value.integers({0, kMaxDegree}), "/"));
  if (key == "order" || key == "schedule" || key == "context" || key == "split" || key == "vocab") {
    return key == "order" ? fmt::format("order={}", value.text()) : value.text();
  }
  return fmt::format("{}={}", key, value.integer({0, kMaxDegree}));
}

}  // namespace

std::vector<std::string_view> known_layout_words() {
  std::vector<std::string_view> words;
  for (const Degree& d : kDegrees) words.push_back(d.name);
  for (const Word& w : kWords) words.push_back(w.name);
  for_each_choice([&](const auto& choice) {
    for (const auto& row : choice.names) words.push_back(row.name);
  });
  words.insert(words.end(), {"stages", "order"});
  return words;
}

LayoutRequest parse_layout(std::string_view text, std::string_view field) {
  const std::string lowered = lower(text);
  LayoutBuilder builder{field};
  for (const std::string_view token : split(lowered, " ,\t\n")) builder.add(token);
  return builder.finish();
}

std::string to_layout_text(const LayoutRequest& request) {
  const Layout& layout = request.layout;
  std::vector<std::string> words;
  if (layout.outer_replicas > 1) words.push_back(fmt::format("diloco{}", layout.outer_replicas));
  if (request.dp_given) words.push_back(fmt::format("dp{}", layout.dp));
  const std::pair<std::string_view, int> degrees[] = {
      {"tp", layout.tp}, {"cp", layout.cp}, {"pp", layout.pp}, {"vpp", layout.vpp}, {"ep", layout.ep}};
  for (const auto& [name, degree] : degrees) {
    if (degree != 1) words.push_back(fmt::format("{}{}", name, degree));
  }
  if (layout.etp > 0) words.push_back(fmt::format("etp{}", layout.etp));
  if (layout.sp) words.emplace_back("sp");
  append_sharding(layout.sharding, request.fsdp, words);
  if (layout.partition_activations) words.emplace_back("partition-activations");
  const auto usual =
      layout.vpp > 1 ? costmodel::ScheduleKind::Interleaved : costmodel::ScheduleKind::OneFOneB;
  if (layout.schedule != usual) words.emplace_back(name_in(kScheduleNames, layout.schedule));
  const Layout plain;
  if (layout.context != plain.context) words.emplace_back(name_in(kContextNames, layout.context));
  if (layout.split == StageSplit::Explicit) {
    words.push_back(fmt::format("stages={}", fmt::join(layout.stage_layers, "/")));
  } else if (layout.split != plain.split) {
    words.emplace_back(name_in(kSplitNames, layout.split));
  }
  if (layout.vocab != plain.vocab) words.emplace_back(name_in(kVocabNames, layout.vocab));
  if (layout.order != plain.order) {
    std::vector<std::string_view> axes;
    for (const Axis axis : layout.order) axes.push_back(name_in(kOrderNames, axis));
    words.push_back(fmt::format("order={}", fmt::join(axes, "/")));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string to_layout_text(const costmodel::Layout& layout) {
  return to_layout_text(LayoutRequest{layout, true});
}

LayoutRequest read_layout(const ValueReader& value) {
  std::string text;
  if (value.json().get_if<std::string>() != nullptr) {
    text = value.text();
  } else {
    ObjectReader object = value.object();
    for (const auto& [key, member] : object.members()) text += words_of_member(key, member) + ' ';
  }
  try {
    return parse_layout(text, value.pointer());
  } catch (const InputError& error) {
    InputProblem problem = error.problem;
    problem.file = value.file();
    throw InputError{std::move(problem)};
  }
}

}  // namespace hexaplan::presets
