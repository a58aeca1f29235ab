#include "costmodel/program/count.h"

#include <algorithm>

#include "costmodel/program/fold.h"

namespace hexaplan::costmodel::program {

Flops Counts::flops(Pass pass) const {
  Flops sum;
  for (const OfSite& site : sites) sum += site.passes[position(pass)];
  for (const OfSite& side : adapters) sum += side.passes[position(pass)];
  return sum;
}

Flops flops_of(const Program& p, const Op& op, const Sizes& sizes, bool windowed) {
  const double attention = windowed ? sizes.windowed_flops : sizes.attention_flops;
  switch (row_of(op.kind).work) {
    case Work::Matrix: {
      const Weight& w = p.weights[position(op.weight)];
      return Flops{2 * sizes.of(matrix_rows(p, op)) * sizes.of(w.in) * sizes.of(w.out)};
    }
    case Work::LowRank: {  // B·A, of the outputs whose rows are measured
      const double outputs = sizes.elements(p.of(op.writes[0]).shape);
      return Flops{2 * sizes.of(Width::AdapterRank) * outputs * sizes.of(p.weights[position(op.weight)].in)};
    }
    case Work::Attention:
      return Flops{attention};
    case Work::AttentionBackward:
      return Flops{kAttentionBackwardFlops * attention};
    case Work::Scan:
      return Flops{sizes.scan_flops};
    case Work::ScanBackward:
      return Flops{sizes.scan_back_flops};
    case Work::None:
      break;
  }
  return Flops{0};
}

namespace {

bool stores_scores(const Program& p, const Op& op) {
  const auto is_scores = [&](ValueId id) { return p.of(id).tensor == Tensor::Scores; };
  return std::ranges::any_of(op.reads, is_scores) || std::ranges::any_of(op.writes, is_scores);
}

}  // namespace

Bytes traffic_of(const Program& p, const Op& op, const Sizes& sizes) {
  double bytes = 0;
  for (const ValueId id : op.reads) bytes += sizes.bytes(p.of(id));
  for (const ValueId id : op.writes) bytes += sizes.bytes(p.of(id));
  const bool written_out =
      std::ranges::any_of(op.reads, [&](ValueId id) { return p.of(id).tensor == Tensor::WideWeight; });
  if (op.weight >= 0 && !written_out) {
    const Weight& w = p.weights[position(op.weight)];
    bytes += sizes.of(w.in) * sizes.of(w.out) * sizes.activation_bytes;
  }
  return Bytes{bytes};
}

Counts count(const Program& p, const Sizes& sizes, bool windowed) {
  Counts out;
  const auto add = [&](Site site, const Op& op, double flops) {
    Counts::OfSite& of = out.sites[position(site)];
    (op.recomputed ? of.recomputed : of.passes[position(op.pass)]) += Flops{flops};
  };
  for (const Op& op : p.ops) {
    const Work work = row_of(op.kind).work;
    if ((work == Work::Attention || work == Work::AttentionBackward) && stores_scores(p, op)) {
      const double products = work == Work::Attention ? 1 : 2;  // a gradient of either operand
      add(Site::ScoreProducts, op, products * sizes.score_flops);
      add(Site::ValueProducts, op, products * sizes.value_flops);
      continue;
    }
    const Flops flops = flops_of(p, op, sizes, windowed);
    const AdapterSide side = op.weight < 0 ? AdapterSide::None : p.weights[position(op.weight)].adapter;
    Counts::OfSite& site =
        side == AdapterSide::None ? out.sites[position(op.site)] : out.adapters[position(side)];
    (op.recomputed ? site.recomputed : site.passes[position(op.pass)]) += flops;
    const auto message = row_of(op.kind).message;
    if (!message || op.times == 0) continue;
    out.messages.push_back({.site = op.site,
                            .pass = op.pass,
                            .recomputed = op.recomputed,
                            .kind = *message,
                            .group = op.group,
                            .payload = Bytes{sizes.bytes(payload_of(p, op))},
                            .times = op.times});
  }
  out.kept = Footprint{p}.kept_bytes(sizes);
  return out;
}

}  // namespace hexaplan::costmodel::program
