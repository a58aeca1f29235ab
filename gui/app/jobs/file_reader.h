#pragma once
#include <QObject>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "gui/app/document/project.h"
#include "presets/json/json_value.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::gui {

/// A model as a file says it: what stands in a scenario as "model".
struct ModelFile {
  presets::JsonValue config;
  QString name;
};
/// A page that was written as a report, whose scenario is inside, with what it is compared with as pins. Not
/// a file to save to.
struct ReportPage {
  Project project;
};
/// What somebody's launch script or configuration says; what it leaves open is null or not said.
struct LaunchPlan {
  presets::ScenarioRequest request;
  QString format;     // "Megatron-LM"
  QStringList notes;  // what was assumed; not what is missing, which `request` shows
  /// GPUs that the files start, of a type that they may leave open; 0: they do not say.
  std::int64_t gpus = 0;
  /// As many GPUs of a type, in nodes of the size that the files say: what stands in a scenario as "cluster".
  /// Null where the files do not say how many.
  std::function<presets::JsonValue(const std::string& gpu)> machines_of = {};
};
/// What machines say of themselves: nvidia-smi topo -m, nvidia-smi -q -x, ibstat, scontrol show node.
struct MachineText {
  bool names_gpu = false;  // else somebody has to say the type
  struct Cluster {
    std::string text;   // what stands in a scenario as "cluster"
    QStringList notes;  // what was read, and what was assumed
  };
  /// The nodes that the text speaks of, with this type of GPU; empty: the one that it names. InputError where
  /// there is no such GPU.
  std::function<Cluster(const std::string& gpu)> of_gpu = {};
};
/// A trace of PyTorch's profiler, which is read where its progress is seen.
struct TraceFile {
  QString path;
};
/// A log of a training run, a memory snapshot of one, a log of nvidia-smi or a table of nccl-tests, which is
/// read with the question that it answers.
struct RunFile {
  QString path;
};
struct UnusableFile {
  QString problem;
};
/// What a file turned out to be.
using FileContent = std::variant<presets::ScenarioRequest, Project, ReportPage, ModelFile, LaunchPlan,
                                 MachineText, MeasuredFilePtr, TraceFile, RunFile, UnusableFile>;

/// Reads and understands a file by what is in it; never throws.
[[nodiscard]] FileContent readAnyFile(const QString& path);
/// The same of a text that stands in no file; `name` is what messages call it.
[[nodiscard]] FileContent readAnyText(const QString& text, const QString& name);

/// Reads on a worker thread, then calls `deliver` in the thread of `owner`, unless that is gone.
void readInBackground(QObject* owner, const QString& path, std::function<void(const FileContent&)> deliver);

}  // namespace hexaplan::gui
