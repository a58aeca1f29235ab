#include "validator/measure/fit/fit_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "costmodel/compute/kernel_time.h"
#include "validator/measure/fit/fit_gemm.h"
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
constexpr double kMostMemoryShare = 1.0, kMostRatio = 1.5, kMostAccumulation = 2.0,
                 kMostSustainedRatio = 10;  // read_calibration
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
    fit_launch();
    fit_memory();
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
    const double middle = std::clamp(median_of(ratios), least, most);
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

  /// The optimizer's kernels apart, as soon as there are enough of them for a line.
  void fit_memory() {
    Measured update, other;
    for (const Measurement* m : of(PointKind::MemoryBound))
      (is_update(m->point) ? update : other).push_back(m);
    fit_.measured_optimizer = fit_line("optimizer", update, calibration().optimizer);
    if (!fit_.measured_optimizer) other.insert(other.end(), update.begin(), update.end());
    fit_.measured_memory = fit_line("memory", other, calibration().memory);
  }
  [[nodiscard]] static bool is_update(const Point& p) {
    return p.step == MemoryStep::AdamW || p.step == MemoryStep::SquaredNorm;
  }

  /// ramp + bytes/(share·bandwidth) [docs/formulas.md#T3], relative errors counting alike. False without two
  /// points.
  bool fit_line(const std::string& name, const Measured& points, costmodel::MemoryCurve& curve) {
    if (points.size() < 2) return false;
    LinearProblem problem{.columns = 2, .rows = {}, .values = {}, .penalty = {}};
    for (const Measurement* m : points) {
      const double seconds = m->median();
      problem.rows.insert(problem.rows.end(), {1 / seconds, traffic_of(m->point).value() / seconds});
      problem.values.push_back(1.0);
    }
    const LinearFit line = fit_robust(problem);
    const double per_byte = std::max(line.x[1], 1 / (kMostMemoryShare * gpu_.memory_bandwidth.value()));
    const double share = 1 / (per_byte * gpu_.memory_bandwidth.value());
    curve = {.share = share, .ramp = Seconds{std::max(line.x[0], 0.0)}, .provenance = Provenance::Measured};
    note(name + ".share", share, share * line.error[1] / per_byte, "",
         fmt::format("{} memory-bound kernels from {} to {} bytes", points.size(), least_traffic(points),
                     most_traffic(points)));
    note(name + ".ramp", curve.ramp.value(), line.error[0], "s", "the same");
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

  /// Of a point's errors: narrow precisions apart.
  [[nodiscard]] std::string kind_of(const Point& p) const { return kind_of(p.kind, executed(p)); }
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
      if (m->point.gemm.accumulate_bytes == 0)
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

  /// What adding into C takes beyond writing it, over the traffic of it: from pairs of the same shape.
  void fit_accumulation() {
    std::map<std::string, double> plain;
    for (const Measurement* m : of(PointKind::Gemm)) plain[name_of(m->point)] = m->median();
    std::vector<double> shares;
    const double bandwidth = calibration().memory.share * gpu_.memory_bandwidth.value();
    for (const Measurement* m : of(PointKind::Gemm)) {
      Point without = m->point;
      const double bytes = without.gemm.accumulate_bytes * static_cast<double>(without.gemm.m) *
                           static_cast<double>(without.gemm.n);
      without.gemm.accumulate_bytes = 0;
      const auto pair = plain.find(name_of(without));
      if (bytes > 0 && pair != plain.end())
        shares.push_back((m->median() - pair->second) / (bytes / bandwidth));
    }
    if (shares.empty()) return;
    calibration().accumulate_exposed =
        note_ratio("accumulate_exposed", shares, 0, kMostAccumulation,
                   fmt::format("{} weight gradients with and without adding into fp32", shares.size()));
    fit_.measured_accumulation = true;
  }

  /// Only groups that compute longer than they move memory say something.
  void fit_grouped() {
    std::vector<double> ratios;
    const double floor = calibration().launch_floor.value();
    for (const Measurement* m : of(PointKind::GroupedGemm)) {
      calibration().grouped = kTrialSlowdown;
      const double slower = predicted_gemm(m->point) - floor;
      calibration().grouped = 1;
      const double predicted = predicted_gemm(m->point) - floor;
      if (slower * kTrialSlowdown < 0.99 * predicted || m->median() <= floor) continue;
      ratios.push_back(predicted / (m->median() - floor));
    }
    calibration().grouped = before_.grouped;
    if (ratios.empty()) return;
    calibration().grouped = note_ratio("grouped", ratios, 0.01, kMostRatio,
                                       fmt::format("{} grouped GEMMs of 8 experts", ratios.size()));
    fit_.measured_grouped = true;
  }

  /// A GEMM after seconds of itself against the same alone; the narrow precisions' against bf16's.
  void fit_sustained() {
    const std::map<Precision, std::vector<double>> ratios = sustained_ratios();
    for (const auto& [precision, of_precision] : ratios) {
      if (is_quantized(precision)) continue;
      calibration().sustained = note_ratio("sustained", of_precision, 0.01, 1.0,
                                           "the largest square GEMM after a while of the same");
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

  void fit_attention() {
    std::map<std::int64_t, std::array<std::map<std::int64_t, std::vector<double>>, 2>> shares;
    AttentionCurve shape;  // its tile heights
    for (const PointKind kind : {PointKind::AttentionForward, PointKind::AttentionBackward}) {
      const bool forward = kind == PointKind::AttentionForward;
      for (const Measurement* m : of(kind)) {
        const AttentionShape& a = m->point.attention;
        if (!a.causal || a.window > 0 || a.seq_q != a.seq_kv) continue;
        const double share =
            attention_share(*m, forward ? shape.tile_rows_forward : shape.tile_rows_backward);
        shares[a.head_dim][forward ? 0 : 1][a.seq_q].push_back(share);
      }
    }
    for (auto& [head_dim, both] : shares) {
      if (both[0].empty()) continue;
      // An axis needs two knots: what was measured at one sequence is taken to be flat.
      const auto [sequence, rates] = *both[0].begin();
      if (both[0].size() == 1) both[0][2 * sequence] = rates;
      add_attention(head_dim, both[0], both[1]);
    }
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
        if (!tells_of_mask(m->point.attention, windowed) || m->median() <= floor) continue;
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
    return same_mask && std::count(fit_.head_dims.begin(), fit_.head_dims.end(), a.head_dim) > 0;
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
      samples.push_back({p.collective, p.ranks, p.nodes, p.payload, m->median()});
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

  /// In the order of the kinds.
  [[nodiscard]] std::vector<std::pair<std::string, std::vector<double>>> errors_by_kind() {
    std::vector<std::pair<std::string, std::vector<double>>> result;
    for (const auto& [kind, points] : by_kind_) {
      std::map<std::string, std::vector<double>> errors;
      for (const Measurement* m : points) {
        const double prediction = predicted(m->point);
        if (prediction <= 0) continue;
        errors[kind_of(m->point)].push_back(std::abs(std::log(m->median() / prediction)));
        fit_.residuals.push_back({name_of(m->point), m->median(), prediction, m->spread()});
      }
      result.insert(result.end(), errors.begin(), errors.end());
    }
    return result;
  }

  void measure_residuals() {
    std::vector<double> spread;
    for (const auto& [kind, errors] : errors_by_kind()) {
      std::vector<double> held = held_out_[kind];
      for (double& error : held) error = std::abs(error);
      const std::vector<double>& counts = held.empty() ? errors : held;
      spread.insert(spread.end(), counts.begin(), counts.end());
      fit_.errors.push_back({.kind = kind,
                             .points = static_cast<int>(errors.size()),
                             .median = median_of(errors),
                             .p90 = quantile_of(errors, 0.9),
                             .held_out = static_cast<int>(held.size()),
                             .held_out_median = median_of(held),
                             .held_out_p90 = quantile_of(held, 0.9)});
    }
    if (!spread.empty()) calibration().time_sigma = std::max(kLeastTimeSigma, robust_sigma(spread));
    std::sort(
        fit_.residuals.begin(), fit_.residuals.end(), [](const PointResidual& a, const PointResidual& b) {
          return std::abs(std::log(a.measured / a.predicted)) > std::abs(std::log(b.measured / b.predicted));
        });
  }

  const ClusterSpec& cluster_;
  const GpuSpec& gpu_;
  const Calibration& before_;
  std::map<PointKind, Measured> by_kind_;
  std::map<std::string, std::vector<double>> held_out_;  // by kind_of
  CalibrationFit fit_;
};

}  // namespace

CalibrationFit fit_calibration(std::span<const Measurement> measurements, const ClusterSpec& cluster,
                               const Calibration& fallback) {
  return CalibrationFitter{measurements, cluster, fallback}.fit();
}

}  // namespace hexaplan::validator
