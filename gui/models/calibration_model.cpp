#include "gui/models/calibration_model.h"

#include <algorithm>
#include <array>

#include "costmodel/calibrate/calibration.h"
#include "gui/models/number_text.h"

namespace hexaplan::gui {
namespace {

constexpr int kValue = 2;
using Row = CalibrationRow;
constexpr std::array kColumns{
    Column<Row>{{QT_TRANSLATE_NOOP("Calibration", "part"), CellUnit::Text,
                 QT_TRANSLATE_NOOP("Calibration", "What the figure speaks of.")},
                [](const Row& r) -> QVariant { return r.part; }},
    Column<Row>{{QT_TRANSLATE_NOOP("Calibration", "figure"), CellUnit::Text,
                 QT_TRANSLATE_NOOP("Calibration", "What is known.")},
                [](const Row& r) -> QVariant { return r.name; }},
    Column<Row>{{QT_TRANSLATE_NOOP("Calibration", "value"), CellUnit::Plain,
                 QT_TRANSLATE_NOOP("Calibration", "As the estimate uses it.")},
                [](const Row& r) -> QVariant { return r.value; }},
    Column<Row>{
        {QT_TRANSLATE_NOOP("Calibration", "origin"), CellUnit::Text,
         QT_TRANSLATE_NOOP("Calibration", "Measured on this GPU, borrowed from a sibling, or a prior.")},
        [](const Row& r) -> QVariant { return r.origin; }},
};

QString originOf(costmodel::Provenance provenance) {
  switch (provenance) {
    case costmodel::Provenance::Measured:
      return CalibrationModel::tr("measured");
    case costmodel::Provenance::Borrowed:
      return CalibrationModel::tr("borrowed");
    case costmodel::Provenance::Prior:
      return CalibrationModel::tr("prior");
  }
  return {};
}

constexpr std::array<const char*, 6> kCollectives{"all-reduce", "all-gather",   "reduce-scatter",
                                                  "all-to-all", "send/receive", "broadcast"};

void appendKernels(const costmodel::Calibration& c, std::vector<Row>& out) {
  for (std::size_t p = 0; p < c.gemm.size(); ++p) {
    const costmodel::GemmCurve& curve = c.gemm[p];
    out.push_back(
        {CalibrationModel::tr("matrix products"),
         CalibrationModel::tr("share of the peak, %1").arg(utf8Text(costmodel::kPrecisionNames[p].name)),
         CellUnit::Percent, curve.share, originOf(curve.provenance),
         CalibrationModel::tr("Of the datasheet's dense peak, for large matrices; %1 measured correction(s).")
             .arg(curve.correction.size())});
  }
  out.push_back({CalibrationModel::tr("matrix products"),
                 CalibrationModel::tr("sustained in a training step"),
                 CellUnit::Percent,
                 c.sustained,
                 {},
                 CalibrationModel::tr("Power and clocks of long products against short ones.")});
  for (const costmodel::AttentionCurve& curve : c.attention) {
    if (curve.forward.empty() || curve.backward.empty()) continue;
    const QString head = CalibrationModel::tr("head size %1").arg(curve.head_dim);
    const QString origin = originOf(curve.provenance);
    out.push_back({CalibrationModel::tr("attention"), CalibrationModel::tr("%1, forward, at best").arg(head),
                   CellUnit::Percent, *std::max_element(curve.forward.begin(), curve.forward.end()), origin,
                   CalibrationModel::tr("Share of the peak that fused attention reaches.")});
    out.push_back({CalibrationModel::tr("attention"), CalibrationModel::tr("%1, backward, at best").arg(head),
                   CellUnit::Percent, *std::max_element(curve.backward.begin(), curve.backward.end()), origin,
                   CalibrationModel::tr("Share of the peak that fused attention reaches.")});
  }
  out.push_back({CalibrationModel::tr("memory-bound kernels"), CalibrationModel::tr("share of the bandwidth"),
                 CellUnit::Percent, c.memory.share, originOf(c.memory.provenance),
                 CalibrationModel::tr("Of the datasheet's memory bandwidth.")});
  out.push_back({CalibrationModel::tr("memory-bound kernels"), CalibrationModel::tr("ramp"),
                 CellUnit::Seconds, c.memory.ramp.value(), originOf(c.memory.provenance),
                 CalibrationModel::tr("Until every multiprocessor has its first loads back.")});
  out.push_back({CalibrationModel::tr("kernel launches"),
                 CalibrationModel::tr("gap between kernels"),
                 CellUnit::Seconds,
                 c.launch_floor.value(),
                 {},
                 CalibrationModel::tr("Added to every matrix product and attention.")});
}

void appendNetwork(const costmodel::Calibration& c, std::vector<Row>& out) {
  for (const costmodel::CollectiveCurve& curve : c.collectives) {
    out.push_back({CalibrationModel::tr("inside a node"),
                   CalibrationModel::tr("%1 on %2 GPUs, sizes measured")
                       .arg(QLatin1String(kCollectives[static_cast<std::size_t>(curve.kind)]))
                       .arg(curve.ranks),
                   CellUnit::Count, static_cast<double>(curve.microseconds.size()),
                   CalibrationModel::tr("measured"),
                   CalibrationModel::tr("Points of the curve of time over size.")});
  }
  out.push_back({CalibrationModel::tr("between nodes"),
                 CalibrationModel::tr("attained share of the bandwidth"),
                 CellUnit::Percent,
                 c.network.bandwidth_efficiency,
                 {},
                 CalibrationModel::tr("For large messages, of the card's rate.")});
  out.push_back({CalibrationModel::tr("between nodes"),
                 CalibrationModel::tr("latency of a collective"),
                 CellUnit::Seconds,
                 c.network.base_latency.value(),
                 {},
                 CalibrationModel::tr("Once per collective.")});
  out.push_back({CalibrationModel::tr("between nodes"),
                 CalibrationModel::tr("latency of a step"),
                 CellUnit::Seconds,
                 c.network.hop_latency.value(),
                 {},
                 CalibrationModel::tr("Per step between nodes.")});
}

}  // namespace

CalibrationModel::CalibrationModel(QObject* parent) : ColumnTableModel(kColumns, "Calibration", parent) {}

void CalibrationModel::setCalibration(const costmodel::Calibration& calibration) {
  std::vector<Row> out;
  const QString residuals = CalibrationModel::tr("residuals");
  out.push_back({residuals,
                 CalibrationModel::tr("step time, one standard deviation"),
                 CellUnit::Percent,
                 calibration.time_sigma,
                 {},
                 CalibrationModel::tr(
                     "Spread of measured over predicted: what the interval of the estimate comes from.")});
  out.push_back({residuals,
                 CalibrationModel::tr("memory, one standard deviation"),
                 CellUnit::Percent,
                 calibration.memory_sigma,
                 {},
                 CalibrationModel::tr(
                     "Spread of measured over predicted: what the interval of the estimate comes from.")});
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
