#include "validator/measure/fit/fit_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "costmodel/compute/kernel_time.h"
#include "validator/measure/fit/fit_gemm.h"
#include "validator/measure/fit/fit_memory.h"
#include "validator/measure/fit/robust.h"

namespace hexaplan::validator {
namespace {

using costmodel::AttentionCurve;
using costmodel::AttentionShape;
using costmodel::Calibration;
using costmodel::ClusterSpec;
using costmodel::GpuSpec;
using costmodel::Precision;
using costmodel::Provenance;
using costmodel::Seconds;

constexpr double kInterval = 1.96;  // standard deviations on either side of 95 %
/// Kernels alone repeat better than steps, which also wait for hosts and neighbours.
constexpr double kLeastTimeSigma = 0.05;
constexpr double kMostRatio = 1.5, kMostAccumulation = 2.0,
                 kMostSustainedRatio = 10;  // read_calibration
/// A kernel of fewer launches than so many is bound by them …
constexpr double kLaunches = 2;
/// … unless computing or moving at the datasheet's rates explains this share of its time.
constexpr double kLeastExplained = 1.0 / 3;
/// Tiles per multiprocessor from which on attention keeps them busy: the last wave is then at most a third.
constexpr double kTilesThatFill = 2;
/// A grouped GEMM that computes would take this share's inverse as long.
constexpr double kTrialSlowdown = 0.8;
/// Of forward's rate, where backward was not measured at some sequence: as the cost model's prior.
constexpr double kBackwardOfForward = 0.85;

/// Masks change a kernel's rate by less than this, or the points are of something else.
constexpr double kLeastMaskRate = 0.1;

class CalibrationFitter {
 public:
  CalibrationFitter(std::span<const Measurement> measurements, const ClusterSpec& cluster,
                    const Calibration& fallback)
      : cluster_{cluster}, gpu_{cluster.gpu}, before_{fallback} {
    fit_.calibration = fallback;
    for (const Measurement& m : measurements) {
      if (!m.seconds.empty() && m.median() > 0) by_kind_[m.point.kind].push_back(&m);
    }
  }

  CalibrationFit fit() {
    find_launches();
    fit_launch();
    fit_memory_bound();
    fit_gemms();
    fit_accumulation();
    fit_grouped();
    fit_sustained();
    fit_attention();
    fit_masks();
    fit_links();
    fit_overlap();
    measure_residuals();
    return std::move(fit_);
  }

 private:
  using Measured = std::vector<const Measurement*>;
  Calibration& calibration() { return fit_.calibration; }
  [[nodiscard]] const Measured& of(PointKind kind) { return by_kind_[kind]; }
  [[nodiscard]] Precision executed(const Point& p) const { return executed_precision(p.precision, gpu_); }
  [[nodiscard]] double peak(Precision p) const {
    const double peak = gpu_.peak_of(p).value();
    return peak > 0 ? peak : gpu_.peak_vector.value();
  }

  /// Back to back, kernels that end before the host has launched the next take as long as that launch,
  /// whatever they compute: points of less than two of their kind's shortest launches, most of which neither
  /// datasheet rate explains.
  void find_launches() {
    for (const PointKind kind : {PointKind::Gemm, PointKind::GroupedGemm, PointKind::AttentionForward,
                                 PointKind::AttentionBackward}) {
      std::map<Precision, double> shortest;
      for (const Measurement* m : of(kind)) {
        const auto [found, first] = shortest.try_emplace(executed(m->point), per_launch(*m));
        found->second = std::min(found->second, per_launch(*m));
      }
      for (const Measurement* m : of(kind)) {
        const double launch = shortest[executed(m->point)];
        if (per_launch(*m) < kLaunches * launch && least_time(m->point) < kLeastExplained * m->median())
          launches_.insert(m);
      }
    }
  }
  [[nodiscard]] bool is_launch(const Measurement* m) const { return launches_.contains(m); }
  /// Executors launch a grouped GEMM's groups one by one where no library takes them together.
  [[nodiscard]] static double per_launch(const Measurement& m) {
    const bool grouped = m.point.kind == PointKind::GroupedGemm;
    return m.median() / static_cast<double>(grouped ? m.point.gemm.batch : 1);
  }
  /// By the datasheet.
  [[nodiscard]] double least_time(const Point& p) const {
    return std::max(flops_of(p).value() / peak(executed(p)),
                    traffic_of(p).value() / gpu_.memory_bandwidth.value());
  }

  void note(std::string name, double value, double error, std::string unit, std::string how) {
    fit_.numbers.push_back({.name = std::move(name),
                            .value = value,
                            .low = std::max(value - kInterval * error, 0.0),
                            .high = value + kInterval * error,
                            .unit = std::move(unit),
                            .how = std::move(how)});
  }
  /// The middle of several ratios of the same thing.
  double note_ratio(std::string name, const std::vector<double>& ratios, double least, double most,
                    std::string how) {
    return note_ratio(std::move(name), ratios, median_of(ratios), least, most, std::move(how));
  }
  double note_ratio(std::string name, const std::vector<double>& ratios, double middle_of_them, double least,
                    double most, std::string how) {
    const double middle = std::clamp(middle_of_them, least, most);
    std::vector<double> off;
    off.reserve(ratios.size());
    for (const double ratio : ratios) off.push_back(ratio - middle);
    note(std::move(name), middle, robust_sigma(off) / std::sqrt(static_cast<double>(ratios.size())), "",
         std::move(how));
    return middle;
  }

  void fit_launch() {
    std::vector<double> times;
    for (const Measurement* m : of(PointKind::Launch))
      times.insert(times.end(), m->seconds.begin(), m->seconds.end());
    if (times.empty()) return;
    const double floor =
        note_ratio("launch_floor", times, 0, 1, "a kernel that fills a few bytes, back to back");
    fit_.numbers.back().unit = "s";
    calibration().launch_floor = Seconds{floor};
    fit_.measured_launch = true;
  }

  /// The optimizer's kernels apart, as soon as there are enough of them for a line. They run one after the
  /// other over all parameters; of the others a step has some of each.
  void fit_memory_bound() {
    Measured update, apart, other;
    for (const Measurement* m : of(PointKind::MemoryBound))
      (is_update(m->point) ? update : is_apart(m->point) ? apart : other).push_back(m);
    if (!apart.empty()) (void)lines_of(apart, KernelMix::Median);
    fit_.measured_optimizer = fit_line("optimizer", update, KernelMix::OneAfterAll, calibration().optimizer);
    if (!fit_.measured_optimizer) other.insert(other.end(), update.begin(), update.end());
    fit_.measured_memory = fit_line("memory", other, KernelMix::Median, calibration().memory);
  }
  [[nodiscard]] static bool is_update(const Point& p) {
    return p.step == MemoryStep::AdamW || p.step == MemoryStep::SquaredNorm;
  }

  /// Not what every layer runs: these have shares of their own and bend no curve.
  [[nodiscard]] static bool is_apart(const Point& p) {
    return p.step == MemoryStep::LossGradient || p.step == MemoryStep::Embedding ||
           p.step == MemoryStep::GatherRows || p.step == MemoryStep::Cast;
  }

  /// With every kernel's own share noted.
  MemoryFit lines_of(const Measured& points, KernelMix mix) {
    std::vector<KernelSample> samples;
    for (const Measurement* m : points) {
      samples.push_back({.kernel = kind_of(m->point),
                         .bytes = traffic_of(m->point).value(),
                         .seconds = m->median(),
                         .weight = traffic_per_element(m->point.step)});
    }
    MemoryFit lines = fit_memory(samples, mix, gpu_, calibration().launch_floor);
    for (const KernelLine& kernel : lines.kernels) shares_of_kernels_[kernel.kernel] = kernel.share;
    return lines;
  }

  /// False without two points.
  bool fit_line(const std::string& name, const Measured& points, KernelMix mix,
                costmodel::MemoryCurve& curve) {
    if (points.size() < 2) return false;
    const MemoryFit line = lines_of(points, mix);
    curve = line.curve;
    note(name + ".share", curve.share, curve.share * line.share_error, "",
         fmt::format("{} memory-bound kernels, {} points from {} to {} bytes", line.kernels.size(),
                     points.size(), least_traffic(points), most_traffic(points)));
    note(name + ".ramp", curve.ramp.value(), line.ramp_error, "s", "the same");
    return true;
  }
  static double least_traffic(const Measured& points) {
    double least = traffic_of(points.front()->point).value();
    for (const Measurement* m : points) least = std::min(least, traffic_of(m->point).value());
    return least;
  }
  static double most_traffic(const Measured& points) {
    double most = 0;
    for (const Measurement* m : points) most = std::max(most, traffic_of(m->point).value());
    return most;
  }

  /// Of a point's errors: narrow precisions apart, and every memory-bound kernel.
  [[nodiscard]] std::string kind_of(const Point& p) const {
    if (p.kind == PointKind::MemoryBound) return fmt::format("{} {}", name_of(p.kind), name_of(p.step));
    return kind_of(p.kind, executed(p));
  }
  [[nodiscard]] static std::string kind_of(PointKind kind, Precision executed) {
    std::string name{name_of(kind)};
    if (is_quantized(executed)) name += fmt::format(" {}", name_of(executed));
    return name;
  }
  /// Of a number of a precision's curve; bf16's, or what takes its place, has none in its name.
  [[nodiscard]] static std::string name_in_curve(Precision executed, std::string_view number) {
    return is_quantized(executed) ? fmt::format("gemm.{}.{}", name_of(executed), number)
                                  : fmt::format("gemm.{}", number);
  }

  void fit_gemms() {
    std::map<Precision, std::vector<GemmSample>> samples;
    for (const Measurement* m : of(PointKind::Gemm)) {
      if (m->point.gemm.accumulate_bytes == 0 && !is_launch(m))
        samples[executed(m->point)].push_back({m->point.gemm, m->median()});
    }
    for (const auto& [precision, points] : samples) {
      GemmFit gemm = fit_gemm(points, precision, gpu_, calibration());
      const double share = gemm.curve.share;
      note(name_in_curve(precision, "share"), share, share * gemm.share_error, "",
           fmt::format("{} shapes, each alone", points.size()));
      costmodel::GemmCurve& curve = calibration().gemm[static_cast<std::size_t>(precision)];
      gemm.curve.sustained = curve.sustained;  // unless it is measured, too
      curve = std::move(gemm.curve);
      fit_.gemm_precisions.push_back(precision);
      held_out_[kind_of(PointKind::Gemm, precision)] = std::move(gemm.held_out);
    }
    if (!samples.empty()) lend(samples.contains(Precision::Bf16) ? Precision::Bf16 : samples.begin()->first);
  }
  /// fp16 runs the kernels of bf16; read_calibration lends the same way.
  void lend(Precision measured) {
    const costmodel::GemmCurve& curve = calibration().gemm[static_cast<std::size_t>(measured)];
    if (measured == Precision::Bf16) calibration().gemm[static_cast<std::size_t>(Precision::Fp16)] = curve;
  }

  [[nodiscard]] double predicted_gemm(const Point& p) const {
    Calibration alone = fit_.calibration;
    if (p.kind != PointKind::SustainedGemm) {
      alone.sustained = 1;
      alone.gemm[static_cast<std::size_t>(executed(p))].sustained = 1;
    }
    return gemm_time(p.gemm, executed(p), gpu_, alone).value();
  }

  /// What adding into C takes beyond writing it, over the traffic of it: from pairs of the same shape, the
  /// median by FLOPs, since long sums hide more of it.
  void fit_accumulation() {
    std::map<std::string, double> plain;
    for (const Measurement* m : of(PointKind::Gemm)) plain[name_of(m->point)] = m->median();
    std::vector<double> shares, flops;
    const double bandwidth = calibration().memory.share * gpu_.memory_bandwidth.value();
    for (const Measurement* m : of(PointKind::Gemm)) {
      Point without = m->point;
      const double bytes = without.gemm.accumulate_bytes * static_cast<double>(without.gemm.m) *
                           static_cast<double>(without.gemm.n);
      without.gemm.accumulate_bytes = 0;
      const auto pair = plain.find(name_of(without));
      if (bytes <= 0 || pair == plain.end() || is_launch(m)) continue;
      shares.push_back((m->median() - pair->second) / (bytes / bandwidth));
      flops.push_back(flops_of(m->point).value());
    }
    if (shares.empty()) return;
    calibration().accumulate_exposed =
        note_ratio("accumulate_exposed", shares, weighted_median(shares, flops), 0, kMostAccumulation,
                   fmt::format("{} weight gradients with and without adding into fp32", shares.size()));
    fit_.measured_accumulation = true;
  }

  /// Only groups that compute longer than they are launched or move memory say something.
  void fit_grouped() {
    std::vector<double> ratios;
    const double floor = calibration().launch_floor.value();
    for (const Measurement* m : of(PointKind::GroupedGemm)) {
      if (is_launch(m)) continue;
      calibration().grouped = kTrialSlowdown;
      const double slower = predicted_gemm(m->point) - floor;
      calibration().grouped = 1;
      const double predicted = predicted_gemm(m->point) - floor;
      if (slower * kTrialSlowdown < 0.99 * predicted || m->median() <= floor) continue;
      ratios.push_back(predicted / (m->median() - floor));
    }
    calibration().grouped = before_.grouped;
    if (ratios.empty()) return;
    calibration().grouped = note_ratio(
        "grouped", ratios, 0.01, kMostRatio,
        fmt::format("{} of {} grouped GEMMs: the others launch or move memory for longer than they compute",
                    ratios.size(), of(PointKind::GroupedGemm).size()));
    fit_.measured_grouped = true;
  }

  /// A GEMM after seconds of itself against the same alone; the narrow precisions' against bf16's.
  void fit_sustained() {
    const std::map<Precision, std::vector<double>> ratios = sustained_ratios();
    for (const auto& [precision, of_precision] : ratios) {
      if (is_quantized(precision)) continue;
      calibration().sustained =
          note_ratio("sustained", of_precision, 0.01, 1.0, "large GEMMs after a while of the same");
      fit_.measured_sustained = true;
    }
    for (auto [precision, of_precision] : ratios) {
      if (!is_quantized(precision)) continue;
      for (double& ratio : of_precision) ratio /= calibration().sustained;
      calibration().gemm[static_cast<std::size_t>(precision)].sustained =
          note_ratio(name_in_curve(precision, "sustained_ratio"), of_precision, 0.01, kMostSustainedRatio,
                     "the same in this precision, over `sustained`");
    }
  }
  [[nodiscard]] std::map<Precision, std::vector<double>> sustained_ratios() {
    std::map<Precision, std::vector<double>> ratios;
    for (const Measurement* m : of(PointKind::SustainedGemm)) {
      Point alone = m->point;
      alone.kind = PointKind::Gemm;
      for (const Measurement* other : of(PointKind::Gemm)) {
        if (name_of(other->point) != name_of(alone)) continue;
        for (const double seconds : m->seconds)
          ratios[executed(m->point)].push_back(other->median() / seconds);
      }
    }
    return ratios;
  }

  /// Share of the peak with every SM busy: attention_time solved for it [docs/formulas.md#T2].
  [[nodiscard]] double attention_share(const Measurement& m, double tile_rows) const {
    const AttentionShape& a = m.point.attention;
    const bool forward = m.point.kind == PointKind::AttentionForward;
    const double per_pair = (forward ? 2.0 : 5.0) * static_cast<double>(a.head_dim + a.v_head_dim);
    const double work = a.pairs * static_cast<double>(a.batch * a.heads);
    const double rows = std::min(tile_rows, static_cast<double>(a.seq_q));
    const double longest =
        std::min(rows * static_cast<double>(a.seq_kv), a.pairs) * std::max(gpu_.sm_count, 1);
    const double net = m.median() - fit_.calibration.launch_floor.value();
    return per_pair * std::hypot(work, longest) / (std::max(net, 0.1 * m.median()) * peak(executed(m.point)));
  }

  /// Whether every multiprocessor has tiles enough that the last wave matters little.
  [[nodiscard]] bool fills(const AttentionShape& a, double tile_rows) const {
    const double tiles =
        std::ceil(static_cast<double>(a.seq_q) / tile_rows) * static_cast<double>(a.batch * a.heads);
    return tiles >= kTilesThatFill * std::max(gpu_.sm_count, 1);
  }
  /// Whether the point says how fast attention is, not how long launching it or how empty the machine is.
  [[nodiscard]] bool tells_rate(const Measurement& m) const {
    const AttentionCurve shape;  // its tile heights
    const bool forward = m.point.kind == PointKind::AttentionForward;
    return !is_launch(&m) &&
           fills(m.point.attention, forward ? shape.tile_rows_forward : shape.tile_rows_backward);
  }

  /// Head sizes of which no point fills the machine take what there is.
  void fit_attention() {
    std::set<std::pair<std::int64_t, PointKind>> filled;
    for (const PointKind kind : {PointKind::AttentionForward, PointKind::AttentionBackward}) {
      for (const Measurement* m : of(kind)) {
        if (is_of_curve(m->point.attention) && tells_rate(*m))
          filled.insert({head_size_of(m->point.attention), kind});
      }
    }
    std::map<std::int64_t, std::array<std::map<std::int64_t, std::vector<double>>, 2>> shares;
    AttentionCurve shape;
    for (const PointKind kind : {PointKind::AttentionForward, PointKind::AttentionBackward}) {
      const bool forward = kind == PointKind::AttentionForward;
      for (const Measurement* m : of(kind)) {
        const AttentionShape& a = m->point.attention;
        if (!is_of_curve(a) || (filled.contains({head_size_of(a), kind}) && !tells_rate(*m))) continue;
        const double share =
            attention_share(*m, forward ? shape.tile_rows_forward : shape.tile_rows_backward);
        shares[head_size_of(a)][forward ? 0 : 1][a.seq_q].push_back(share);
      }
    }
    for (auto& [head_dim, both] : shares) {
      if (both[0].empty()) continue;
      add_attention(head_dim, both[0], both[1]);
    }
  }

  /// What a curve is of: the mean where values are narrower than queries and keys.
  [[nodiscard]] static std::int64_t head_size_of(const AttentionShape& a) {
    return (a.head_dim + (a.v_head_dim > 0 ? a.v_head_dim : a.head_dim)) / 2;
  }
  /// Curves are of whole causal sequences.
  [[nodiscard]] static bool is_of_curve(const AttentionShape& a) {
    return a.causal && a.window == 0 && a.seq_q == a.seq_kv;
  }

  /// Rates of attention that is not causal, over the curves' at as many keys per query.
  void fit_masks() {
    fit_.measured_unmasked = fit_mask(false, "attention_unmasked", calibration().attention_unmasked);
    fit_.measured_windowed = fit_mask(true, "attention_windowed", calibration().attention_windowed);
  }

  /// Only what computes longer than it moves memory, at head sizes whose curve was measured, says something.
  bool fit_mask(bool windowed, const std::string& name, double& rate) {
    std::vector<double> ratios;
    const double floor = calibration().launch_floor.value(), before = rate;
    for (const PointKind kind : {PointKind::AttentionForward, PointKind::AttentionBackward}) {
      for (const Measurement* m : of(kind)) {
        if (!tells_of_mask(m->point.attention, windowed) || m->median() <= floor || !tells_rate(*m)) continue;
        rate = kTrialSlowdown;
        const double slower = predicted(m->point) - floor;
        rate = 1;
        const double alike = predicted(m->point) - floor;
        if (slower * kTrialSlowdown >= 0.99 * alike) ratios.push_back(alike / (m->median() - floor));
      }
    }
    rate = before;
    if (ratios.empty()) return false;
    rate = note_ratio(name, ratios, kLeastMaskRate, 1 / kLeastMaskRate,
                      fmt::format("{} attentions against causal ones", ratios.size()));
    return true;
  }
  [[nodiscard]] bool tells_of_mask(const AttentionShape& a, bool windowed) const {
    const bool same_mask = windowed ? a.window > 0 : !a.causal && a.window == 0;
    return same_mask && std::count(fit_.head_dims.begin(), fit_.head_dims.end(), head_size_of(a)) > 0;
  }

  /// Longer sequences than were measured, as the curve that was there has them: kernels keep getting faster.
  /// It is scaled to meet the last measured sequence where it has that one.
  void extend(AttentionCurve& curve) const {
    const auto known = std::find_if(
        before_.attention.begin(), before_.attention.end(),
        [&](const AttentionCurve& c) { return c.head_dim == curve.head_dim && c.library == curve.library; });
    if (known == before_.attention.end()) return;
    const double last = curve.sequence.log2.back();
    const std::vector<double>& knots = known->sequence.log2;
    const auto at = std::find(knots.begin(), knots.end(), last);
    const auto meets = static_cast<std::size_t>(at - knots.begin());
    const bool has = at != knots.end();
    const double forward = has ? curve.forward.back() / known->forward[meets] : 1;
    const double backward = has ? curve.backward.back() / known->backward[meets] : 1;
    for (std::size_t i = 0; i < knots.size(); ++i) {
      if (knots[i] <= last) continue;
      curve.sequence.log2.push_back(knots[i]);
      curve.forward.push_back(forward * known->forward[i]);
      curve.backward.push_back(backward * known->backward[i]);
    }
  }

  void add_attention(std::int64_t head_dim, const std::map<std::int64_t, std::vector<double>>& forward,
                     const std::map<std::int64_t, std::vector<double>>& backward) {
    AttentionCurve curve{.head_dim = head_dim, .sequence = {}, .forward = {}, .backward = {}};
    curve.provenance = Provenance::Measured;
    double ratio = kBackwardOfForward;
    for (const auto& [sequence, rates] : forward) {
      curve.sequence.log2.push_back(std::log2(static_cast<double>(sequence)));
      curve.forward.push_back(median_of(rates));
      const auto found = backward.find(sequence);
      if (found != backward.end()) ratio = median_of(found->second) / curve.forward.back();
      curve.backward.push_back(ratio * curve.forward.back());
    }
    extend(curve);
    if (curve.forward.size() == 1) {
      // An axis needs two knots: what was measured at one sequence is taken to be flat.
      curve.sequence.log2.push_back(curve.sequence.log2.front() + 1);
      curve.forward.push_back(curve.forward.front());
      curve.backward.push_back(curve.backward.front());
    }
    std::vector<AttentionCurve>& curves = calibration().attention;
    std::erase_if(curves, [&](const AttentionCurve& c) {
      return c.head_dim == head_dim && c.library == costmodel::AttentionLibrary::Vendor;
    });
    curves.push_back(std::move(curve));
    fit_.head_dims.push_back(head_dim);
  }

  void fit_links() {
    std::vector<CollectiveSample> samples;
    for (const Measurement* m : of(PointKind::Collective)) {
      const Point& p = m->point;
      samples.push_back({p.collective, p.ranks, p.nodes, p.payload, m->median(), p.stride, p.groups});
    }
    if (samples.empty()) return;
    fit_.lines = fit_lines(samples);
    calibration().collectives = fit_curves(samples);
    fit_.network = fit_network(samples, cluster_, calibration());
    if (fit_.network) {
      calibration().network = fit_.network->model;
      const double share = fit_.network->model.bandwidth_efficiency;
      note("network.bandwidth_efficiency", share, share * fit_.network->efficiency_error, "",
           fmt::format("{} collectives between nodes", fit_.network->points));
    }
  }

  void fit_overlap() {
    std::map<std::string, double> measured;
    for (const Measurement* m : of(PointKind::Gemm)) measured[name_of(m->point)] = m->median();
    std::vector<double> ratios;
    for (const Measurement* m : of(PointKind::Overlap)) {
      Point alone{.kind = PointKind::Gemm, .gemm = m->point.gemm};
      const auto found = measured.find(name_of(alone));
      ratios.push_back(m->median() / (found != measured.end() ? found->second : predicted_gemm(m->point)));
    }
    if (ratios.empty()) return;
    fit_.overlap_slowdown =
        note_ratio("overlap_slowdown", ratios, 1.0, 3.0, "a GEMM while a collective runs");
  }

  [[nodiscard]] double predicted(const Point& p) const {
    switch (p.kind) {
      case PointKind::AttentionForward:
      case PointKind::AttentionBackward:
        return attention_time(p.attention,
                              p.kind == PointKind::AttentionForward ? costmodel::Direction::Forward
                                                                    : costmodel::Direction::Backward,
                              executed(p), gpu_, fit_.calibration)
            .value();
      case PointKind::MemoryBound:
        return (is_update(p) ? optimizer_time(traffic_of(p), gpu_, fit_.calibration)
                             : memory_bound_time(traffic_of(p), gpu_, fit_.calibration))
            .value();
      case PointKind::Gemm:
      case PointKind::GroupedGemm:
      case PointKind::SustainedGemm:
        return predicted_gemm(p);
      default:
        return 0;
    }
  }

  /// Distances from the curve of one kind of point, log(measured/predicted) without its sign.
  struct Distances {
    std::string kind;
    std::vector<double> errors, seconds;
  };
  /// In the order of the kinds; launches behind their kind.
  [[nodiscard]] std::vector<Distances> distances_by_kind() {
    std::vector<Distances> result;
    for (const auto& [kind, points] : by_kind_) {
      std::map<std::string, Distances> here;
      for (const Measurement* m : points) {
        const double prediction = predicted(m->point);
        if (prediction <= 0) continue;
        const std::string name = kind_of(m->point) + (is_launch(m) ? ", launches" : "");
        Distances& distances = here.try_emplace(name, Distances{name, {}, {}}).first->second;
        distances.errors.push_back(std::abs(std::log(m->median() / prediction)));
        distances.seconds.push_back(m->median());
        fit_.residuals.push_back({name_of(m->point), m->median(), prediction, m->spread()});
      }
      for (auto& [name, distances] : here) result.push_back(std::move(distances));
    }
    return result;
  }

  void measure_residuals() {
    std::vector<double> spread, seconds;
    for (const Distances& of_kind : distances_by_kind()) {
      std::vector<HeldOut> held = held_out_[of_kind.kind];
      std::vector<double> errors, weights;
      for (const HeldOut& sample : held) {
        errors.push_back(std::abs(sample.error));
        weights.push_back(sample.seconds);
      }
      fit_.errors.push_back({.kind = of_kind.kind,
                             .points = static_cast<int>(of_kind.errors.size()),
                             .median = median_of(of_kind.errors),
                             .p90 = quantile_of(of_kind.errors, 0.9),
                             .held_out = static_cast<int>(errors.size()),
                             .held_out_median = median_of(errors),
                             .held_out_p90 = quantile_of(errors, 0.9),
                             .share = share_of_kernel(of_kind.kind)});
      if (errors.empty()) errors = of_kind.errors, weights = of_kind.seconds;
      // A quarter that was held out stands for all.
      const double stands_for = sum_of(of_kind.seconds) / sum_of(weights);
      for (double& weight : weights) weight *= stands_for;
      spread.insert(spread.end(), errors.begin(), errors.end());
      seconds.insert(seconds.end(), weights.begin(), weights.end());
    }
    if (!spread.empty())
      calibration().time_sigma = std::max(kLeastTimeSigma, sigma_of_distances(spread, seconds));
    std::sort(
        fit_.residuals.begin(), fit_.residuals.end(), [](const PointResidual& a, const PointResidual& b) {
          return std::abs(std::log(a.measured / a.predicted)) > std::abs(std::log(b.measured / b.predicted));
        });
  }

  [[nodiscard]] static double sum_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  }
  [[nodiscard]] double share_of_kernel(const std::string& kind) const {
    const auto found = shares_of_kernels_.find(kind);
    return found == shares_of_kernels_.end() ? 0 : found->second;
  }

  const ClusterSpec& cluster_;
  const GpuSpec& gpu_;
  const Calibration& before_;
  std::map<PointKind, Measured> by_kind_;
  std::set<const Measurement*> launches_;
  std::map<std::string, std::vector<HeldOut>> held_out_;  // by kind_of
  std::map<std::string, double> shares_of_kernels_;       // of the bandwidth, by kind_of
  CalibrationFit fit_;
};

}  // namespace

CalibrationFit fit_calibration(std::span<const Measurement> measurements, const ClusterSpec& cluster,
                               const Calibration& fallback) {
  return CalibrationFitter{measurements, cluster, fallback}.fit();
}

}  // namespace hexaplan::validator
