#include "gui/models/calibration_model.h"

#include <algorithm>
#include <array>

#include "costmodel/calibrate/calibration.h"

namespace hexaplan::gui {
namespace {

#define CALIBRATION_TEXT(text) QT_TRANSLATE_NOOP("hexaplan::gui::CalibrationModel", text)
constexpr int kValue = 2;
using Row = CalibrationRow;
constexpr std::array kColumns{
    Column<Row>{{CALIBRATION_TEXT("part"), CellUnit::Text, CALIBRATION_TEXT("What the figure speaks of.")},
                [](const Row& r) -> QVariant { return r.part; }},
    Column<Row>{{CALIBRATION_TEXT("figure"), CellUnit::Text, CALIBRATION_TEXT("What is known.")},
                [](const Row& r) -> QVariant { return r.name; }},
    Column<Row>{{CALIBRATION_TEXT("value"), CellUnit::Plain, CALIBRATION_TEXT("As the estimate uses it.")},
                [](const Row& r) -> QVariant { return r.value; }},
    Column<Row>{{CALIBRATION_TEXT("origin"), CellUnit::Text,
                 CALIBRATION_TEXT("Measured on this GPU, borrowed from a sibling, or a prior.")},
                [](const Row& r) -> QVariant { return r.origin; }},
};
#undef CALIBRATION_TEXT

QString tr(const char* text) {
  return CalibrationModel::tr(text);
}

QString originOf(costmodel::Provenance provenance) {
  switch (provenance) {
    case costmodel::Provenance::Measured:
      return tr("measured");
    case costmodel::Provenance::Borrowed:
      return tr("borrowed");
    case costmodel::Provenance::Prior:
      return tr("prior");
  }
  return {};
}

constexpr std::array<const char*, costmodel::kPrecisionCount> kPrecisions{
    "fp32", "tf32", "fp16", "bf16", "fp8", "fp8-block", "mxfp8", "nvfp4"};
constexpr std::array<const char*, 6> kCollectives{"all-reduce", "all-gather",   "reduce-scatter",
                                                  "all-to-all", "send/receive", "broadcast"};

void appendKernels(const costmodel::Calibration& c, std::vector<Row>& out) {
  for (std::size_t p = 0; p < c.gemm.size(); ++p) {
    const costmodel::GemmCurve& curve = c.gemm[p];
    out.push_back({tr("matrix products"), tr("share of the peak, %1").arg(QLatin1String(kPrecisions[p])),
                   CellUnit::Percent, curve.share, originOf(curve.provenance),
                   tr("Of the datasheet's dense peak, for large matrices; %1 measured correction(s).")
                       .arg(curve.correction.size())});
  }
  out.push_back({tr("matrix products"),
                 tr("sustained in a training step"),
                 CellUnit::Percent,
                 c.sustained,
                 {},
                 tr("Power and clocks of long products against short ones.")});
  for (const costmodel::AttentionCurve& curve : c.attention) {
    if (curve.forward.empty() || curve.backward.empty()) continue;
    const QString head = tr("head size %1").arg(curve.head_dim);
    const QString origin = originOf(curve.provenance);
    out.push_back({tr("attention"), tr("%1, forward, at best").arg(head), CellUnit::Percent,
                   *std::max_element(curve.forward.begin(), curve.forward.end()), origin,
                   tr("Share of the peak that fused attention reaches.")});
    out.push_back({tr("attention"), tr("%1, backward, at best").arg(head), CellUnit::Percent,
                   *std::max_element(curve.backward.begin(), curve.backward.end()), origin,
                   tr("Share of the peak that fused attention reaches.")});
  }
  out.push_back({tr("memory-bound kernels"), tr("share of the bandwidth"), CellUnit::Percent, c.memory.share,
                 originOf(c.memory.provenance), tr("Of the datasheet's memory bandwidth.")});
  out.push_back({tr("memory-bound kernels"), tr("ramp"), CellUnit::Seconds, c.memory.ramp.value(),
                 originOf(c.memory.provenance), tr("Until every multiprocessor has its first loads back.")});
  out.push_back({tr("kernel launches"),
                 tr("gap between kernels"),
                 CellUnit::Seconds,
                 c.launch_floor.value(),
                 {},
                 tr("Added to every matrix product and attention.")});
}

void appendNetwork(const costmodel::Calibration& c, std::vector<Row>& out) {
  for (const costmodel::CollectiveCurve& curve : c.collectives) {
    out.push_back({tr("inside a node"),
                   tr("%1 on %2 GPUs, sizes measured")
                       .arg(QLatin1String(kCollectives[static_cast<std::size_t>(curve.kind)]))
                       .arg(curve.ranks),
                   CellUnit::Count, static_cast<double>(curve.microseconds.size()), tr("measured"),
                   tr("Points of the curve of time over size.")});
  }
  out.push_back({tr("between nodes"),
                 tr("attained share of the bandwidth"),
                 CellUnit::Percent,
                 c.network.bandwidth_efficiency,
                 {},
                 tr("For large messages, of the card's rate.")});
  out.push_back({tr("between nodes"),
                 tr("latency of a collective"),
                 CellUnit::Seconds,
                 c.network.base_latency.value(),
                 {},
                 tr("Once per collective.")});
  out.push_back({tr("between nodes"),
                 tr("latency of a step"),
                 CellUnit::Seconds,
                 c.network.hop_latency.value(),
                 {},
                 tr("Per step between nodes.")});
}

}  // namespace

CalibrationModel::CalibrationModel(QObject* parent)
    : ColumnTableModel(kColumns, "hexaplan::gui::CalibrationModel", parent) {}

void CalibrationModel::setCalibration(const costmodel::Calibration& calibration) {
  std::vector<Row> out;
  const QString residuals = tr("residuals");
  out.push_back({residuals,
                 tr("step time, one standard deviation"),
                 CellUnit::Percent,
                 calibration.time_sigma,
                 {},
                 tr("Spread of measured over predicted: what the interval of the estimate comes from.")});
  out.push_back({residuals,
                 tr("memory, one standard deviation"),
                 CellUnit::Percent,
                 calibration.memory_sigma,
                 {},
                 tr("Spread of measured over predicted: what the interval of the estimate comes from.")});
  appendKernels(calibration, out);
  appendNetwork(calibration, out);
  setRows(std::move(out));
}

CellUnit CalibrationModel::unit(int index, int column) const {
  return column == kValue ? row(index).unit : ColumnTableModel::unit(index, column);
}

QString CalibrationModel::toolTip(int index, int /*column*/) const {
  return row(index).meaning;
}

}  // namespace hexaplan::gui
