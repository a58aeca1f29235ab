#include "validator/measure/sweep/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "validator/executor/device/device.h"

namespace hexaplan::validator {
namespace {

using costmodel::AttentionShape;
using costmodel::Bytes;
using costmodel::CollectiveKind;
using costmodel::GemmShape;
using costmodel::Pass;
using costmodel::Precision;
using costmodel::Seconds;

struct Linear {
  std::int64_t outputs, inputs;
};

/// A layer whose matrices are measured.
struct LayerShape {
  std::int64_t hidden, heads, kv_heads, head_dim, mlp, vocabulary;
};
// Published config.json of Llama-3.2-1B, Llama-3.1-8B, Qwen2.5-14B, Llama-3.1-70B and Llama-3.1-405B (Hugging
// Face); in front of them models that a processor computes, with the same ratios.
constexpr LayerShape kLayers[] = {
    {4096, 32, 8, 128, 14336, 128256}, {8192, 64, 8, 128, 28672, 128256},   {2048, 32, 8, 64, 8192, 128256},
    {5120, 40, 8, 128, 13824, 152064}, {16384, 128, 8, 128, 53248, 128256}, {1024, 16, 4, 64, 3584, 32000},
    {512, 8, 2, 64, 1792, 8192},       {256, 4, 2, 64, 896, 4096},          {128, 4, 2, 32, 448, 1024},
};
constexpr std::int64_t kTensorDegrees[] = {1, 2, 4, 8};
constexpr std::int64_t kTokens[] = {4096, 8192, 2048, 16384, 1024, 512, 256, 128};
/// Experts of one rank, rows of each in turn, and one of their matrices.
struct ExpertShape {
  std::int64_t experts;
  std::int64_t rows[3];
  Linear linear;
};
// Published config.json (Hugging Face) of Mixtral-8x7B, whole and under tp=2, DeepSeek-V2-Lite,
// Qwen3-30B-A3B, MiniMax-M2 (under tp=4 into the width, tp=2 out of it) and Llama-4-Scout (tp=2, whole): a
// matrix into the experts' width and one out of it.
constexpr ExpertShape kExpertShapes[] = {
    {8, {2048, 1024, 4096}, {14336, 4096}}, {64, {512, 256, 64}, {2816, 2048}},
    {8, {2048, 1024, 4096}, {4096, 14336}}, {128, {256, 512, 64}, {1536, 2048}},
    {8, {4096, 2048, 1024}, {7168, 4096}},  {64, {512, 256, 64}, {2048, 1408}},
    {8, {4096, 2048, 1024}, {4096, 7168}},  {128, {256, 512, 64}, {2048, 768}},
    {256, {128, 64, 32}, {768, 3072}},      {16, {1024, 512, 256}, {8192, 5120}},
    {256, {128, 64, 32}, {3072, 768}},      {16, {1024, 512, 256}, {5120, 8192}}};
constexpr std::int64_t kExperts = 8;
/// fp32 main gradients, read and written (costmodel/compute/operations.cpp).
constexpr double kAccumulateBytes = 8;
/// Datasheets of Ada, Hopper and Blackwell: dense fp8 against bf16 (presets/gpus).
constexpr double kNarrowSpeed = 2;

/// FNV-1a: a fixed order that has nothing to do with size.
std::uint64_t shuffled(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// Points of one kind, every name once, within the limits.
class Collector {
 public:
  explicit Collector(const PlanLimits& limits) : limits_{limits} {}
  bool add(const Point& point) {
    if (guess_time(point, limits_.rates) > limits_.longest_run || traffic_of(point) > limits_.memory)
      return false;
    std::string name = name_of(point);
    if (!names_.insert(name).second) return false;
    points_.emplace_back(shuffled(name), point);
    return true;
  }
  /// As they were added.
  [[nodiscard]] std::vector<Point> take() {
    std::vector<Point> points;
    for (auto& [order, point] : points_) points.push_back(point);
    points_.clear();
    return points;
  }
  [[nodiscard]] std::vector<Point> take_shuffled() {
    std::stable_sort(points_.begin(), points_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    return take();
  }

 private:
  const PlanLimits& limits_;
  std::set<std::string> names_;
  std::vector<std::pair<std::uint64_t, Point>> points_;
};

std::vector<Linear> linears_of(const LayerShape& l, std::int64_t tp) {
  std::vector<Linear> result;
  if (l.heads % tp == 0) {
    const std::int64_t kv_heads = std::max<std::int64_t>(l.kv_heads / tp, 1);
    result.push_back({(l.heads / tp + 2 * kv_heads) * l.head_dim, l.hidden});
    result.push_back({l.hidden, l.heads / tp * l.head_dim});
  }
  if (l.mlp % tp == 0) {
    result.push_back({2 * l.mlp / tp, l.hidden});
    result.push_back({l.hidden, l.mlp / tp});
  }
  if (l.vocabulary % tp == 0) result.push_back({l.vocabulary / tp, l.hidden});
  return result;
}

/// Forward, backward data and backward weight of a matrix, as costmodel::append_layer_operations cuts them.
GemmShape shape_of(const Linear& l, std::int64_t tokens, Pass pass) {
  switch (pass) {
    case Pass::BackwardData:
      return {.m = tokens, .n = l.inputs, .k = l.outputs};
    case Pass::BackwardWeight:
      return {.m = l.outputs, .n = l.inputs, .k = tokens};
    default:
      return {.m = tokens, .n = l.outputs, .k = l.inputs};
  }
}

/// At most `per_cell` points per `width` powers of two of area and depth and per pass.
class Cells {
 public:
  explicit Cells(int per_cell, double width = 1) : per_cell_{per_cell}, width_{width} {}
  bool full(const GemmShape& g, Pass pass) const {
    const auto found = count_.find(key(g, pass));
    return found != count_.end() && found->second >= per_cell_;
  }
  void fill(const GemmShape& g, Pass pass) { ++count_[key(g, pass)]; }

 private:
  [[nodiscard]] std::tuple<int, int, Pass> key(const GemmShape& g, Pass pass) const {
    const auto log2 = [this](double x) { return static_cast<int>(std::lround(std::log2(x) / width_)); };
    return {log2(static_cast<double>(g.m) * static_cast<double>(g.n)), log2(static_cast<double>(g.k)), pass};
  }
  int per_cell_;
  double width_;
  std::map<std::tuple<int, int, Pass>, int> count_;
};

/// The matrices of every layer under every tensor-parallel degree.
std::vector<Linear> all_linears() {
  std::vector<Linear> result;
  for (const LayerShape& layer : kLayers) {
    for (const std::int64_t tp : kTensorDegrees) {
      const std::vector<Linear> parts = linears_of(layer, tp);
      result.insert(result.end(), parts.begin(), parts.end());
    }
  }
  return result;
}

/// What devices multiply in eight bits has sides that fill rows of 16 bytes.
bool has_product(Precision precision, const GemmShape& g) {
  if (!costmodel::is_quantized(precision)) return true;
  return g.m % kE4m3Multiple == 0 && g.n % kE4m3Multiple == 0 && g.k % kE4m3Multiple == 0;
}

void add_passes(const Linear& linear, std::int64_t tokens, Precision precision, Cells& cells,
                Collector& points) {
  for (const Pass pass : {Pass::Forward, Pass::BackwardData, Pass::BackwardWeight}) {
    Point point{.kind = PointKind::Gemm,
                .precision = precision,
                .pass = pass,
                .gemm = shape_of(linear, tokens, pass)};
    if (!has_product(precision, point.gemm)) continue;
    if (cells.full(point.gemm, pass) || !points.add(point)) continue;
    cells.fill(point.gemm, pass);
    if (pass != Pass::BackwardWeight) continue;
    point.gemm.accumulate_bytes = kAccumulateBytes;  // the same with and without
    points.add(point);
  }
}

std::vector<Point> gemms(const PlanLimits& limits, Precision precision, Cells cells) {
  Collector points{limits};
  const std::vector<Linear> linears = all_linears();
  for (const std::int64_t tokens : kTokens) {
    for (const Linear& linear : linears) add_passes(linear, tokens, precision, cells, points);
  }
  return points.take_shuffled();
}

/// The largest square that the limits allow and two of half its work, short and long: the middle of three
/// ratios stands one measurement that was disturbed.
std::vector<Point> sustained(const PlanLimits& limits, Precision precision) {
  Collector fits{limits};
  for (std::int64_t side = 8192; side >= 128; side /= 2) {
    const GemmShape shapes[] = {{.m = side, .n = side, .k = side},
                                {.m = side, .n = side, .k = side / 2},
                                {.m = side, .n = side / 2, .k = side}};
    std::vector<Point> points;
    for (const GemmShape& shape : shapes) {
      Point point{.kind = PointKind::SustainedGemm, .precision = precision, .gemm = shape};
      if (!fits.add(point)) break;
      Point alone = point;
      alone.kind = PointKind::Gemm;
      points.insert(points.end(), {alone, point});
    }
    if (points.size() == 2 * std::size(shapes)) return points;
  }
  return {};
}

/// The square first; then fewer shapes than bf16 has: the kernels are alike, and a quick sweep has to hold
/// both.
std::vector<Point> narrow_gemms(const PlanLimits& limits, Precision precision) {
  constexpr double kWidth = 2;
  std::vector<Point> points = sustained(limits, precision);
  const std::vector<Point> others = gemms(limits, precision, Cells{limits.per_cell, kWidth});
  points.insert(points.end(), others.begin(), others.end());
  return points;
}

/// What runs beside collectives.
constexpr costmodel::GemmShape kBesideMessages{.m = 4096, .n = 4096, .k = 4096};

void add_experts(Collector& points, Pass pass, std::size_t row) {
  for (const ExpertShape& shape : kExpertShapes) {
    Point point{
        .kind = PointKind::GroupedGemm, .pass = pass, .gemm = shape_of(shape.linear, shape.rows[row], pass)};
    point.gemm.batch = shape.experts;
    points.add(point);
  }
}

/// Experts of published models: every matrix and pass with the first number of rows before the next one.
std::vector<Point> expert_gemms(const PlanLimits& limits) {
  Collector points{limits};
  for (std::size_t row = 0; row < std::size(kExpertShapes[0].rows); ++row) {
    for (const Pass pass : {Pass::Forward, Pass::BackwardWeight, Pass::BackwardData})
      add_experts(points, pass, row);
  }
  return points.take();
}

/// What small machines can compute, too.
std::vector<Point> small_expert_gemms(const PlanLimits& limits) {
  Collector points{limits};
  for (const std::int64_t tokens : {65536, 32768, 16384, 4096, 1024, 256}) {
    for (const LayerShape& layer : kLayers) {
      points.add({.kind = PointKind::GroupedGemm,
                  .gemm = {.m = tokens / kExperts, .n = layer.mlp, .k = layer.hidden, .batch = kExperts}});
    }
  }
  std::vector<Point> result = points.take_shuffled();
  const std::size_t most = 8 + 3 * static_cast<std::size_t>(limits.per_cell);
  if (result.size() > most) result.resize(most);
  return result;
}

std::vector<Point> special_gemms(const PlanLimits& limits) {
  std::vector<Point> result = sustained(limits, Precision::Bf16);
  Collector alone{limits};
  const Point beside{.gemm = kBesideMessages};
  if (limits.beside_messages && alone.add(beside)) result.insert(result.begin(), beside);
  for (const std::vector<Point>& more : {expert_gemms(limits), small_expert_gemms(limits)})
    result.insert(result.end(), more.begin(), more.end());
  return result;
}

/// Heads of one layer; several sequences of few tokens, as micro-batches have them.
struct AttentionHeads {
  std::int64_t heads, kv_heads, head_dim, tokens;
  std::int64_t v_head_dim = 0;  // 0: as queries and keys
  bool rare = false;            // a quick sweep has them at two sequences
};
// The last are latent heads: published config.json of DeepSeek-V2-Lite (Hugging Face), and of a rank of
// DeepSeek-V3 under tp=8.
constexpr AttentionHeads kHeads[] = {{32, 8, 128, 16384}, {32, 8, 64, 16384}, {8, 1, 128, 8192, 0, true},
                                     {4, 2, 64, 1024},    {4, 2, 32, 256},    {16, 16, 192, 8192, 128, true}};
/// Heads of layers of 0.5 to 8 billion parameters, whose sequences fill a GPU: what most steps spend
/// attention's time in.
constexpr AttentionHeads kUsualHeads[] = {
    {32, 8, 128, 16384}, {16, 16, 64, 16384}, {32, 32, 128, 16384}, {32, 8, 64, 16384}};
constexpr std::int64_t kUsualSequences[] = {4096, 8192, 16384, 2048, 32768};
constexpr std::int64_t kSequences[] = {4096, 8192, 2048, 16384, 1024, 32768, 512, 256, 128, 64};

AttentionShape attention_of(const AttentionHeads& h, std::int64_t sequence) {
  const auto s = static_cast<double>(sequence);
  return {.batch = std::max<std::int64_t>(1, h.tokens / sequence),
          .heads = h.heads,
          .kv_heads = h.kv_heads,
          .seq_q = sequence,
          .seq_kv = sequence,
          .head_dim = h.head_dim,
          .v_head_dim = h.v_head_dim > 0 ? h.v_head_dim : h.head_dim,
          .causal = true,
          .pairs = s * s / 2};
}

void add_attention(Collector& points, const AttentionShape& shape) {
  points.add({.kind = PointKind::AttentionForward, .attention = shape});
  points.add({.kind = PointKind::AttentionBackward, .attention = shape});
}

/// The usual sequences first, in this order.
std::vector<Point> attentions(const PlanLimits& limits) {
  Collector points{limits};
  for (const std::int64_t sequence : kUsualSequences) {
    for (const AttentionHeads& heads : kUsualHeads) add_attention(points, attention_of(heads, sequence));
  }
  std::vector<Point> result = points.take();
  for (const AttentionHeads& heads : kHeads) {
    for (const std::int64_t sequence : kSequences) {
      const bool quick = limits.per_cell < 2;
      if (quick && heads.rare && sequence != 4096 && sequence != 16384) continue;
      AttentionShape shape = attention_of(heads, sequence);
      add_attention(points, shape);
      const auto s = static_cast<double>(sequence);
      if (quick && sequence != 4096 && sequence != 256) continue;
      // The unmasked halves of a zig-zag ring: all queries against half of the keys.
      shape.causal = false;
      shape.seq_kv = sequence / 2;
      shape.pairs = s * s / 2;
      add_attention(points, shape);
      shape = attention_of(heads, sequence);
      shape.window = sequence / 4;
      const auto w = static_cast<double>(shape.window);
      shape.pairs = s * w - w * w / 2;
      add_attention(points, shape);
    }
  }
  const std::vector<Point> others = points.take_shuffled();
  result.insert(result.end(), others.begin(), others.end());
  return result;
}

constexpr std::int64_t kLeastElements = 1 << 14, kMostElements = 1 << 28;
/// Memory-bound kernels run on whole rows of at most this many elements.
constexpr std::int64_t kRowElements = 4096;

/// Sizes of what layers run tell a curve.
void add_every_size(Collector& points, MemoryStep kind, const PlanLimits& limits, int factor) {
  for (std::int64_t elements = kLeastElements; elements <= kMostElements; elements *= factor)
    points.add({.kind = PointKind::MemoryBound, .step = kind, .elements = elements});
  // The largest that one point may have: rates are read from sizes far above the caches'.
  const double most = limits.memory.value() / traffic_per_element(kind);
  const auto rows = static_cast<std::int64_t>(most) / kRowElements;
  points.add({.kind = PointKind::MemoryBound,
              .step = kind,
              .elements = std::min(kMostElements, rows * kRowElements)});
}
/// Of other kernels the rate is asked alone.
void add_large_sizes(Collector& points, MemoryStep kind, int factor) {
  int sizes = 0;
  for (std::int64_t elements = kMostElements; elements >= kLeastElements && sizes < 3; elements /= factor)
    sizes += points.add({.kind = PointKind::MemoryBound, .step = kind, .elements = elements}) ? 1 : 0;
}

std::vector<Point> memory_steps(const PlanLimits& limits) {
  Collector points{limits};
  const int factor = limits.per_cell < 2 ? 4 : 2;
  for (int step = 0; step < kMemorySteps; ++step) {
    const auto kind = static_cast<MemoryStep>(step);
    kind > MemoryStep::AdamW ? add_large_sizes(points, kind, factor)
                             : add_every_size(points, kind, limits, factor);
  }
  return points.take_shuffled();
}

/// Takes from each list in turn, in proportion to its length.
std::vector<Point> interleave(std::span<const std::vector<Point>> lists) {
  std::vector<std::pair<double, const Point*>> order;
  for (const std::vector<Point>& list : lists) {
    for (std::size_t i = 0; i < list.size(); ++i)
      order.emplace_back(static_cast<double>(i) / static_cast<double>(list.size()), &list[i]);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Point> points;
  points.reserve(order.size());
  for (const auto& [place, point] : order) points.push_back(*point);
  return points;
}

/// `point` with payloads of 4 KiB to 1 GiB, each `factor` times the one before.
void add_payloads(Point point, double factor, Collector& points) {
  for (double bytes = 4096; bytes <= 1024.0 * 1024 * 1024; bytes *= factor) {
    point.payload = Bytes{bytes};
    points.add(point);
  }
}

/// `point` with the largest payload that the limits allow, at most 256 MiB.
void add_largest(Point point, Collector& points) {
  constexpr double kLeast = 16.0 * 1024 * 1024, kMost = 256.0 * 1024 * 1024;
  for (double bytes = kMost; bytes >= kLeast; bytes /= 2) {
    point.payload = Bytes{bytes};
    if (points.add(point)) return;
  }
}

constexpr CollectiveKind kMeasuredKinds[] = {CollectiveKind::AllReduce,     CollectiveKind::AllGather,
                                             CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
                                             CollectiveKind::SendRecv,      CollectiveKind::Broadcast};
/// Of data, pipeline, context and expert parallelism.
constexpr std::span<const CollectiveKind> kStridedKinds{kMeasuredKinds, 5};

/// Groups of 2, 4, 8 … neighbours and of all ranks: as many at once as a layout has, if none is cut by a
/// host.
std::vector<Point> neighbour_groups(const RankPlan& plan) {
  std::set<int> sizes;
  for (int size = 2; size < plan.ranks; size *= 2) sizes.insert(size);
  if (plan.ranks > 1) sizes.insert(plan.ranks);
  std::vector<Point> groups;
  for (const int size : sizes) {
    const bool alike = plan.per_node % size == 0 || size % plan.per_node == 0;
    groups.push_back({.ranks = size,
                      .nodes = (size + plan.per_node - 1) / plan.per_node,
                      .groups = alike ? plan.ranks / size : 1});
  }
  return groups;
}

/// Groups over several hosts, whose members are `stride` ranks apart: of data parallelism beside tensor
/// parallelism over all hosts; pairs, pipelines and rings of one GPU per host over 2, 4, 8 … hosts. All GPUs
/// talk at once.
std::vector<Point> strided_groups(const RankPlan& plan) {
  const int nodes = plan.ranks / plan.per_node;
  if (nodes < 2 || plan.ranks % plan.per_node != 0) return {};
  std::vector<Point> groups;
  for (int stride = 2; stride < plan.per_node; stride *= 2) {
    if (plan.per_node % stride == 0)
      groups.push_back({.ranks = plan.ranks / stride, .nodes = nodes, .stride = stride, .groups = stride});
  }
  if (plan.per_node == 1) return groups;  // neighbours
  std::set<int> sizes{nodes};
  for (int size = 2; size < nodes; size *= 2) sizes.insert(size);
  for (const int size : sizes) {
    groups.push_back(
        {.ranks = size, .nodes = size, .stride = plan.per_node, .groups = nodes / size * plan.per_node});
  }
  return groups;
}

void add_collectives(Point group, std::span<const CollectiveKind> kinds, double factor, Collector& points) {
  group.kind = PointKind::Collective;
  for (const CollectiveKind kind : kinds) {
    const bool is_pair = group.ranks == 2 && group.stride > 1 && kind == CollectiveKind::AllToAll;
    if (is_pair) continue;  // as its messages
    group.collective = kind;
    add_payloads(group, factor, points);
  }
}

void add_overlaps(Point group, Collector& points) {
  group.kind = PointKind::Overlap;
  group.gemm = kBesideMessages;
  for (const CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    group.collective = kind;
    add_largest(group, points);
  }
}

}  // namespace

Seconds guess_time(const Point& point, const RoughRates& rates) {
  const bool attention =
      point.kind == PointKind::AttentionForward || point.kind == PointKind::AttentionBackward;
  const double faster = costmodel::is_quantized(point.precision) ? kNarrowSpeed : 1;
  return flops_of(point) / (attention ? rates.attention : faster * rates.gemm) +
         traffic_of(point) / rates.memory;
}

std::vector<Point> plan_kernels(const PlanLimits& limits) {
  std::vector<std::vector<Point>> lists = {{{.kind = PointKind::Launch}},
                                           special_gemms(limits),
                                           gemms(limits, Precision::Bf16, Cells{limits.per_cell}),
                                           attentions(limits),
                                           memory_steps(limits)};
  for (const Precision precision : limits.narrow) lists.push_back(narrow_gemms(limits, precision));
  std::vector<Point> points = interleave(lists);
  std::set<std::string> names;
  std::erase_if(points, [&](const Point& point) { return !names.insert(name_of(point)).second; });
  return points;
}

std::vector<Point> plan_collectives(const RankPlan& ranks, const PlanLimits& limits) {
  Collector points{limits};
  const double factor = limits.per_cell < 2 ? 8 : 2;
  for (const Point& group : neighbour_groups(ranks)) {
    add_collectives(group, kMeasuredKinds, factor, points);
    if (ranks.overlaps) add_overlaps(group, points);
  }
  // Of fewer sizes: what a card loses is the same for all.
  for (const Point& group : strided_groups(ranks)) add_collectives(group, kStridedKinds, 8, points);
  return points.take_shuffled();
}

}  // namespace hexaplan::validator
