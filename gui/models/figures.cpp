#include "gui/models/figures.h"

#include <QCoreApplication>

#include "costmodel/step/training_cost.h"
#include "gui/models/terms.h"

namespace hexaplan::gui {
namespace {

QString translatedFigure(const char* text) {
  return QCoreApplication::translate("Figures", text);
}

/// A rejected layout has no numbers.
bool priced(const costmodel::Estimate& estimate) {
  return !estimate.stages.empty();
}

void appendMemory(const costmodel::Estimate& estimate, std::vector<Figure>& out) {
  const QString group = translatedFigure(QT_TRANSLATE_NOOP("Figures", "memory of the fullest GPU"));
  const costmodel::StageMemory* peak = priced(estimate) ? &estimate.peak() : nullptr;
  const auto add = [&](const QString& name, const QString& meaning, auto read, bool more = false) {
    out.push_back({group, name, meaning, CellUnit::Bytes,
                   peak != nullptr ? std::optional<double>(read(*peak)) : std::nullopt, more});
  };
  using Stage = costmodel::StageMemory;
  add(translatedFigure(QT_TRANSLATE_NOOP("Figures", "on the device")),
      translatedFigure(QT_TRANSLATE_NOOP("Figures", "Everything: what nvidia-smi shows, what runs out.")),
      [](const Stage& s) { return s.device.value(); });
  add(
      translatedFigure(QT_TRANSLATE_NOOP("Figures", "to spare")),
      translatedFigure(QT_TRANSLATE_NOOP("Figures", "Usable memory left over.")),
      [&](const Stage& s) { return (estimate.capacity - s.needed).value(); }, true);
  out.back().remainder = true;
  out.push_back({group, translatedFigure(QT_TRANSLATE_NOOP("Figures", "chance of running out")),
                 translatedFigure(
                     QT_TRANSLATE_NOOP("Figures", "That the true peak is above what is usable. Formula T9.")),
                 CellUnit::Percent,
                 peak != nullptr ? std::optional<double>(estimate.out_of_memory_probability) : std::nullopt});
  for (const MemoryTerm& term : memoryTerms()) {
    add(labelOf(term.kind), explain(term),
        [&](const Stage& s) { return s.on_device().of(term.kind).value(); });
  }
  add(translatedFigure(QT_TRANSLATE_NOOP("Figures", "allocated")),
      translatedFigure(
          QT_TRANSLATE_NOOP("Figures", "Peak of live tensors (torch.cuda.max_memory_allocated).")),
      [](const Stage& s) { return s.allocated.value(); });
  add(translatedFigure(QT_TRANSLATE_NOOP("Figures", "reserved")),
      translatedFigure(
          QT_TRANSLATE_NOOP("Figures", "Peak of the caching allocator (torch.cuda.max_memory_reserved).")),
      [](const Stage& s) { return s.reserved.value(); });
}

void appendTime(const costmodel::Estimate& estimate, std::vector<Figure>& out) {
  const QString group = translatedFigure(QT_TRANSLATE_NOOP("Figures", "time of one step"));
  const auto add = [&](const QString& name, const QString& meaning, double seconds) {
    out.push_back({group, name, meaning, CellUnit::Seconds,
                   priced(estimate) ? std::optional<double>(seconds) : std::nullopt});
  };
  add(translatedFigure(QT_TRANSLATE_NOOP("Figures", "one step")),
      translatedFigure(QT_TRANSLATE_NOOP("Figures", "One optimizer step.")), estimate.time.total().value());
  for (const TimeTerm& term : timeTerms()) {
    add(labelOf(term), explain(term), (estimate.time.*term.member).value());
  }
}

void appendRates(const costmodel::Scenario& scenario, const costmodel::Estimate& estimate,
                 std::vector<Figure>& out) {
  const auto add = [&](const QString& group, const char* name, const char* meaning, CellUnit unit,
                       double value, bool more, bool known = true) {
    out.push_back({group, translatedFigure(name), translatedFigure(meaning), unit,
                   priced(estimate) && known ? std::optional<double>(value) : std::nullopt, more});
  };
  const QString rates = translatedFigure(QT_TRANSLATE_NOOP("Figures", "throughput"));
  const costmodel::Throughput& rate = estimate.throughput;
  add(rates, QT_TRANSLATE_NOOP("Figures", "tokens/s"), QT_TRANSLATE_NOOP("Figures", "Of the whole job."),
      CellUnit::Count, rate.tokens_per_second, true);
  add(rates, QT_TRANSLATE_NOOP("Figures", "tokens/s/GPU"), QT_TRANSLATE_NOOP("Figures", "Of one GPU."),
      CellUnit::Plain, rate.tokens_per_second_per_gpu, true);
  // Steps of different batches are compared by this one.
  const double per_million = rate.tokens_per_second > 0 ? 1e6 / rate.tokens_per_second : 0;
  add(rates, QT_TRANSLATE_NOOP("Figures", "time per million tokens"),
      QT_TRANSLATE_NOOP("Figures", "Of the whole job, whatever the batch."), CellUnit::Seconds, per_million,
      false, per_million > 0);
  add(rates, QT_TRANSLATE_NOOP("Figures", "GPU time per million tokens"),
      QT_TRANSLATE_NOOP("Figures", "Time of all GPUs together, whatever the batch and their number."),
      CellUnit::Seconds, per_million * static_cast<double>(scenario.layout.world_size()), false,
      per_million > 0);
  add(rates, QT_TRANSLATE_NOOP("Figures", "TFLOP/s/GPU"),
      QT_TRANSLATE_NOOP("Figures", "Model FLOPs; causal attention halved."), CellUnit::Plain,
      rate.model_tflops_per_gpu, true);
  add(rates, QT_TRANSLATE_NOOP("Figures", "MFU"),
      QT_TRANSLATE_NOOP("Figures", "Model FLOPs over the dense peak; causal attention halved. Formula U2."),
      CellUnit::Percent, rate.mfu, true);
  add(rates, QT_TRANSLATE_NOOP("Figures", "HFU"),
      QT_TRANSLATE_NOOP("Figures", "As MFU, with recomputed FLOPs. Formula U2."), CellUnit::Percent, rate.hfu,
      true);
  const bool budget = scenario.recipe.tokens > 0 && priced(estimate);
  const costmodel::TrainingCost cost =
      budget ? costmodel::training_cost(scenario, estimate) : costmodel::TrainingCost{};
  const QString run = translatedFigure(QT_TRANSLATE_NOOP("Figures", "whole training run"));
  add(run, QT_TRANSLATE_NOOP("Figures", "duration"),
      QT_TRANSLATE_NOOP("Figures", "For the recipe's tokens, failures included. Formula U3."),
      CellUnit::Seconds, cost.wall.value(), false, budget);
  add(run, QT_TRANSLATE_NOOP("Figures", "steps"), QT_TRANSLATE_NOOP("Figures", "Optimizer steps."),
      CellUnit::Count, cost.steps, false, budget);
  add(run, QT_TRANSLATE_NOOP("Figures", "GPU-hours"),
      QT_TRANSLATE_NOOP("Figures", "Duration × GPUs. Formula U3."), CellUnit::Count, cost.gpu_hours, false,
      budget);
  add(run, QT_TRANSLATE_NOOP("Figures", "cost"),
      QT_TRANSLATE_NOOP("Figures", "At the GPU's price per hour. Formula U3."), CellUnit::Dollars,
      cost.dollars, false, budget && cost.dollars > 0);
  add(run, QT_TRANSLATE_NOOP("Figures", "energy (kWh)"),
      QT_TRANSLATE_NOOP("Figures", "Of the GPUs at their board power. Formula U3."), CellUnit::Count,
      cost.kilowatt_hours, false, budget);
  add(run, QT_TRANSLATE_NOOP("Figures", "goodput"),
      QT_TRANSLATE_NOOP("Figures",
                        "Share of the time in steps that last: not lost to checkpoints and failures. "
                        "Formula U4."),
      CellUnit::Percent, cost.goodput.productive, true, budget);
  add(run, QT_TRANSLATE_NOOP("Figures", "checkpoint interval"),
      QT_TRANSLATE_NOOP("Figures", "Training between two checkpoints. Formula U4."), CellUnit::Seconds,
      cost.goodput.interval.value(), false, budget);
  add(run, QT_TRANSLATE_NOOP("Figures", "failures"),
      QT_TRANSLATE_NOOP("Figures", "That are expected to interrupt the run. Formula U4."), CellUnit::Count,
      cost.failures, false, budget);
}

}  // namespace

std::vector<Figure> figuresOf(const costmodel::Scenario& scenario, const costmodel::Estimate& estimate) {
  std::vector<Figure> out;
  appendMemory(estimate, out);
  appendTime(estimate, out);
  appendRates(scenario, estimate, out);
  return out;
}

}  // namespace hexaplan::gui
