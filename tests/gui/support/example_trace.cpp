#include "tests/gui/support/example_trace.h"

#include <QString>
#include <algorithm>
#include <vector>

#include "costmodel/simulate/stage_operations.h"
#include "validator/measure/runs/compare_work.h"
#include "validator/measure/runs/work_keys.h"

namespace hexaplan::gui {
namespace {

using costmodel::CollectiveKind;
using costmodel::OpKind;
using costmodel::PlacedOperation;

constexpr double kTicks = 1e6;  // microseconds
constexpr int kComputeStream = 7, kMessageStream = 20, kCopyStream = 24;

const char* kernelOf(const costmodel::Operation& op) {
  switch (op.kind) {
    case OpKind::Gemm:
    case OpKind::GroupedGemm:
      return "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT";
    case OpKind::Attention:
      return "flash_fwd_kernel";
    case OpKind::Copy:
      return "Memcpy DtoH (Device -> Pinned)";
    case OpKind::Collective:
      return "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
    default:
      return op.update ? "multi_tensor_apply_kernel" : "triton_poi_fused_add_0";
  }
}

const char* wordOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return "allreduce";
    case CollectiveKind::AllGather:
      return "_allgather_base";
    case CollectiveKind::ReduceScatter:
      return "_reduce_scatter_base";
    case CollectiveKind::AllToAll:
      return "all_to_allv";
    case CollectiveKind::SendRecv:
      return "send";
    default:
      return "broadcast";
  }
}

/// Events as the profiler writes them.
class TraceWriter {
 public:
  TraceWriter(const costmodel::Scenario& scenario, double slower, double products)
      : scenario_{scenario}, slower_{slower}, products_{products} {}

  void step(int number, double start, double seconds) {
    event(QString{"ProfilerStep#%1"}.arg(number), "user_annotation", 1, start, seconds, {});
  }

  /// Kernels of one stream, each behind the one before.
  void add(const std::vector<costmodel::Operation>& operations, const std::vector<PlacedOperation>& placed,
           double start, int stream) {
    double at = start;
    for (const PlacedOperation& row : placed) {
      const costmodel::Operation& op = operations[static_cast<std::size_t>(row.operation)];
      if (!validator::work_kind_of(op.kind)) continue;
      const bool product = op.kind == OpKind::Gemm || op.kind == OpKind::GroupedGemm;
      const double seconds = (row.end - row.begin).value() * (product ? products_ : slower_);
      at = std::max(at, start + row.begin.value() * slower_);
      kernel(op, stream, at, seconds);
      at += seconds;
    }
    end_ = std::max(end_, at);
  }

  [[nodiscard]] double end() const { return end_; }

  QByteArray file(std::int64_t rank) {
    events_.chop(2);
    return QString{
               "{\"schemaVersion\": 1, \"deviceProperties\": [{\"name\": \"NVIDIA H100 80GB HBM3\"}],\n"
               "\"distributedInfo\": {\"rank\": %1, \"world_size\": %2},\n\"traceEvents\": [\n"}
               .arg(rank)
               .arg(scenario_.cluster.gpus)
               .toUtf8() +
           events_ + "\n]}\n";
  }

 private:
  void kernel(const costmodel::Operation& op, int stream, double at, double seconds) {
    QString arguments = QString{"\"External id\": %1"}.arg(++id_);
    if (op.kind == OpKind::Gemm || op.kind == OpKind::GroupedGemm) {
      const auto& g = op.gemm;
      const QString dims = g.batch > 1 ? QString{"[[%4,%1,%3],[%4,%3,%2]]"} : QString{"[[%1,%3],[%3,%2]]"};
      QString filled = dims.arg(g.m).arg(g.n).arg(g.k);
      if (g.batch > 1) filled = filled.arg(g.batch);
      event(g.batch > 1 ? "aten::bmm" : "aten::mm", "cpu_op", 1, at, 1e-6,
            arguments + ", \"Input Dims\": " + filled);
    }
    if (const auto key = validator::message_key_of(scenario_, op)) {
      arguments +=
          QString{
              ", \"Collective name\": \"%1\", \"Group size\": %2, \"In msg nelems\": %3, "
              "\"Out msg nelems\": 1, \"dtype\": \"Byte\""}
              .arg(wordOf(key->kind))
              .arg(key->ranks)
              .arg(key->bytes, 0, 'f', 0);
    }
    event(kernelOf(op), op.kind == OpKind::Copy ? "gpu_memcpy" : "kernel", stream, at, seconds, arguments);
  }

  void event(const QString& name, const char* category, int thread, double start, double seconds,
             const QString& arguments) {
    events_ +=
        QString{
            "{\"ph\": \"X\", \"cat\": \"%1\", \"name\": \"%2\", \"tid\": %3, \"ts\": %4, "
            "\"dur\": %5, \"args\": {%6}},\n"}
            .arg(QString{category}, name)
            .arg(thread)
            .arg(start * kTicks, 0, 'f', 3)
            .arg(seconds * kTicks, 0, 'f', 3)
            .arg(arguments)
            .toUtf8();
  }

  const costmodel::Scenario& scenario_;
  double slower_, products_;
  double end_ = 0;
  std::int64_t id_ = 0;
  QByteArray events_;
};

}  // namespace

QByteArray exampleTrace(const costmodel::Scenario& scenario, const costmodel::Calibration& calibration,
                        std::int64_t rank, double slower, double products_slower) {
  const costmodel::Simulation simulation = costmodel::simulate_step(scenario, calibration);
  const int stage = validator::stage_of_rank(scenario, rank).value_or(0);
  const auto placed = costmodel::place_operations(scenario, calibration, simulation, stage).value();
  TraceWriter writer{scenario, slower, products_slower};
  double start = 0;
  for (int step = 0; step < 2; ++step) {
    writer.add(placed.operations, placed.computes, start, kComputeStream);
    writer.add(placed.operations, placed.messages, start, kMessageStream);
    writer.add(placed.operations, placed.copies, start, kCopyStream);
    writer.step(10 + step, start, writer.end() - start);
    start = writer.end() + 1e-5;
  }
  return writer.file(rank);
}

}  // namespace hexaplan::gui
