#include <QCoreApplication>
#include <QLocale>

#include "costmodel/units/format_units.h"
#include "gui/app/setup/field_values.h"
#include "gui/app/setup/fields.h"
#include "gui/models/number_text.h"
#include "presets/catalog/catalog.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/json/input_error.h"

namespace hexaplan::gui {
namespace {

using presets::ClusterRequest;
using presets::InputError;
using presets::ScenarioRequest;

constexpr const char* kFirstGpu = "h100-80-sxm";
constexpr std::int64_t kFirstGpus = 8;
constexpr std::int64_t kMostGpus = 1'000'000;
constexpr std::int64_t kOfferedGpus = 16384;
constexpr double kMostGbps = 1e6;
constexpr double kMostDollars = 1e6;

ClusterRequest partsOf(const ScenarioRequest& request) {
  ClusterRequest parts = presets::cluster_request(request.cluster);
  if (parts.gpu.empty()) parts.gpu = kFirstGpu;
  if (parts.gpus == 0 && parts.nodes == 0) parts.gpus = kFirstGpus;
  return parts;
}

ClusterRequest partsOf(const Evaluation& e) {
  try {
    return partsOf(e.request);
  } catch (const InputError&) {
    return {};  // the panel says so elsewhere
  }
}

std::int64_t gpusOf(const ClusterRequest& parts) {
  return parts.nodes > 0 ? parts.nodes * parts.per_node : parts.gpus;
}

/// Another number of GPUs in nodes of the same size, where they fill such nodes.
void setGpus(ClusterRequest& parts, std::int64_t gpus) {
  if (parts.nodes > 0 && gpus % parts.per_node == 0) {
    parts.nodes = gpus / parts.per_node;
    return;
  }
  parts.gpus = gpus;
  parts.nodes = parts.per_node = 0;
}

void store(ScenarioRequest& request, const ClusterRequest& parts) {
  request.cluster = presets::to_cluster_text(parts);
}

void writePerNode(ScenarioRequest& request, const std::string& text, const Evaluation&) {
  ClusterRequest parts = partsOf(request);
  const std::int64_t gpus = gpusOf(parts);
  if (isAuto(text)) {
    parts.gpus = gpus;
    parts.nodes = parts.per_node = 0;
  } else {
    const std::int64_t per_node = parseWhole(text, "GPUs per node", 1, kMostGpus);
    if (gpus % per_node != 0)
      throw InputError(
          {.field = "GPUs per node", .value = text, .expected = "a divisor of " + std::to_string(gpus)});
    parts.nodes = gpus / per_node;
    parts.per_node = per_node;
  }
  store(request, parts);
}

void writeNetwork(ScenarioRequest& request, const std::string& text, const Evaluation&) {
  ClusterRequest parts = partsOf(request);
  parts.network = isAuto(text) ? std::string{} : text;
  parts.gbps_per_gpu = parts.gbps_per_node = 0;
  store(request, parts);
}

void writeRate(ScenarioRequest& request, const std::string& text, const Evaluation& now) {
  ClusterRequest parts = partsOf(request);
  parts.gbps_per_gpu = isAuto(text) ? 0 : parseReal(text, "network rate", 1e-3, kMostGbps);
  parts.gbps_per_node = 0;
  if (parts.network.empty() && parts.gbps_per_gpu > 0) {
    // A rate needs the kind of network it is of: the reference's, in front of its rate in the level's name.
    const costmodel::NetworkLevel* cards = now.has_cluster ? network_cards(now.scenario.cluster) : nullptr;
    const std::string level = cards != nullptr ? cards->name : std::string{"ib"};
    parts.network = level.substr(0, level.find_first_of("0123456789"));
  }
  store(request, parts);
}

std::string rateText(const Evaluation& e) {
  const ClusterRequest parts = partsOf(e);
  double rate = parts.gbps_per_gpu;
  if (parts.gbps_per_node > 0 && e.has_cluster) rate = parts.gbps_per_node / e.scenario.cluster.gpus_per_node;
  return rate > 0 ? QLocale::c().toString(rate, 'g', 6).toStdString() : std::string{kAuto};
}

QString networkFollows(const Evaluation& e) {
  if (!e.has_cluster || e.scenario.cluster.levels.empty()) return {};
  const costmodel::ClusterSpec& cluster = e.scenario.cluster;
  return QString::fromStdString(presets::network_text(cluster) + ": " +
                                costmodel::format_rate(cards_or_links(cluster).bandwidth) + "/GPU");
}

QString gpuFollows(const Evaluation& e) {
  return e.has_cluster ? bytesText(e.scenario.cluster.gpu.memory) : QString{};
}

QString nodesFollow(const Evaluation& e) {
  if (!e.has_cluster) return {};
  const auto& cluster = e.scenario.cluster;
  const std::int64_t nodes = (cluster.gpus + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  return QCoreApplication::translate("Field", "nodes: %1").arg(nodes);
}

std::vector<std::string> withAuto(std::vector<std::string> words) {
  words.insert(words.begin(), kAuto);
  return words;
}

std::vector<std::string> perNodeValues(const Evaluation&) {
  return {kAuto, "1", "2", "4", "8", "16"};
}

void appendHardware(std::vector<Field>& table) {
  table.push_back(
      {.id = "cluster.gpu",
       .section = Section::Cluster,
       .label = QT_TRANSLATE_NOOP("Field", "GPU"),
       .tip = QT_TRANSLATE_NOOP("Field",
                                "Type of the GPUs: memory, peak rates and links of its datasheet, "
                                "efficiency as measured on it where it was."),
       .formula = "T1",
       .editor = EditorKind::Choice,
       .read =
           [](const Evaluation& e) { return e.has_cluster ? e.scenario.cluster.gpu.name : std::string{}; },
       .write =
           [](ScenarioRequest& request, const std::string& text, const Evaluation&) {
             ClusterRequest parts = partsOf(request);
             const std::int64_t gpus = gpusOf(parts);
             // Nodes and network are the new type's own.
             store(request, {.gpu = text, .gpus = gpus});
           },
       .check = checkCluster,
       .values = [](const Evaluation&) { return presetNames(presets::PresetKind::Gpu); },
       .tried = false,
       .follows = gpuFollows});
  table.push_back(
      {.id = "cluster.gpus",
       .section = Section::Cluster,
       .label = QT_TRANSLATE_NOOP("Field", "GPUs"),
       .tip = QT_TRANSLATE_NOOP("Field",
                                "GPUs of the job. Data parallelism takes what the other degrees leave."),
       .editor = EditorKind::Steps,
       .read =
           [](const Evaluation& e) {
             return e.has_cluster ? std::to_string(e.scenario.cluster.gpus) : std::string{};
           },
       .write = [](ScenarioRequest& request, const std::string& text,
                   const Evaluation&) { writeGpuCount(request, parseWhole(text, "GPUs", 1, kMostGpus)); },
       .check = checkCluster,
       .values =
           [](const Evaluation& e) {
             return powersOfTwo(1, kOfferedGpus, e.has_cluster ? e.scenario.cluster.gpus : kFirstGpus);
           },
       .follows = nodesFollow});
}

void appendMachine(std::vector<Field>& table) {
  table.push_back(
      {.id = "cluster.preset",
       .section = Section::Cluster,
       .advanced = true,
       .label = QT_TRANSLATE_NOOP("Field", "Machine"),
       .tip = QT_TRANSLATE_NOOP("Field", "A published machine: its GPUs, nodes and network at once."),
       .editor = EditorKind::Choice,
       .read =
           [](const Evaluation& e) {
             const auto* text = e.request.cluster.get_if<std::string>();
             // A number in front says how many GPUs; a machine has a name.
             const bool named =
                 text != nullptr && !text->empty() && (text->front() < '0' || text->front() > '9');
             return named ? *text : std::string{"-"};
           },
       .write =
           [](ScenarioRequest& request, const std::string& text, const Evaluation&) {
             if (text == "-") return;
             request.cluster = text;
           },
       .check = checkCluster,
       .values =
           [](const Evaluation&) {
             auto names = presetNames(presets::PresetKind::Cluster);
             names.insert(names.begin(), "-");
             return names;
           },
       .tried = false});
  table.push_back({.id = "cluster.per_node",
                   .section = Section::Cluster,
                   .advanced = true,
                   .label = QT_TRANSLATE_NOOP("Field", "GPUs per node"),
                   .tip = QT_TRANSLATE_NOOP("Field",
                                            "GPUs that share a host and its network cards; auto: as in the "
                                            "reference server of the GPU type."),
                   .formula = "C6",
                   .editor = EditorKind::Words,
                   .read =
                       [](const Evaluation& e) {
                         const std::int64_t n = partsOf(e).per_node;
                         return n > 0 ? std::to_string(n) : std::string{kAuto};
                       },
                   .write = writePerNode,
                   .check = checkCluster,
                   .values = perNodeValues});
}

void appendNetwork(std::vector<Field>& table) {
  table.push_back({.id = "cluster.network",
                   .section = Section::Cluster,
                   .label = QT_TRANSLATE_NOOP("Field", "Network"),
                   .tip = QT_TRANSLATE_NOOP(
                       "Field", "Kind of network between nodes; auto: that of the reference server."),
                   .formula = "C6",
                   .editor = EditorKind::Choice,
                   .read =
                       [](const Evaluation& e) {
                         const std::string network = partsOf(e).network;
                         return network.empty() ? std::string{kAuto} : network;
                       },
                   .write = writeNetwork,
                   .check = checkCluster,
                   .values = [](const Evaluation&) { return withAuto(presets::network_names()); },
                   .follows = networkFollows});
  table.push_back(
      {.id = "cluster.rate",
       .section = Section::Cluster,
       .advanced = true,
       .label = QT_TRANSLATE_NOOP("Field", "Network rate"),
       .unit = QT_TRANSLATE_NOOP("Field", "Gbit/s per GPU"),
       .tip = QT_TRANSLATE_NOOP("Field", "Rate of the network card that a GPU has to itself, per direction."),
       .formula = "C6",
       .editor = EditorKind::Words,
       .read = rateText,
       .write = writeRate,
       .check = checkCluster,
       .values = [](const Evaluation&) {
         return std::vector<std::string>{kAuto, "25", "50", "100", "200", "400", "800"};
       }});
}

void appendPrice(std::vector<Field>& table) {
  table.push_back(
      {.id = "cluster.price",
       .section = Section::Cluster,
       .advanced = true,
       .label = QT_TRANSLATE_NOOP("Field", "Price"),
       .unit = QT_TRANSLATE_NOOP("Field", "US$ per GPU-hour"),
       .tip = QT_TRANSLATE_NOOP("Field", "What an hour of one GPU costs; auto: the preset's."),
       .formula = "U3",
       .editor = EditorKind::Words,
       .read =
           [](const Evaluation& e) {
             return e.request.price_per_hour
                        ? QLocale::c().toString(*e.request.price_per_hour, 'g', 6).toStdString()
                        : std::string{kAuto};
           },
       .write =
           [](ScenarioRequest& request, const std::string& text, const Evaluation&) {
             request.price_per_hour.reset();
             if (!isAuto(text)) request.price_per_hour = parseReal(text, "price", 0, kMostDollars);
           },
       .values =
           [](const Evaluation&) { return std::vector<std::string>{kAuto, "1.5", "2", "2.5", "3", "4"}; },
       .tried = false});
  table.push_back(
      {.id = "calibration",
       .section = Section::Cluster,
       .advanced = true,
       .label = QT_TRANSLATE_NOOP("Field", "Calibration"),
       .tip = QT_TRANSLATE_NOOP("Field",
                                "Measured curves of kernels and links: a preset or the path of a file "
                                "that 'hexaplan calibrate' wrote; auto: those of the GPU type."),
       .formula = "T1",
       .editor = EditorKind::Words,
       .read =
           [](const Evaluation& e) {
             return e.request.calibration.empty() ? std::string{kAuto} : e.request.calibration;
           },
       .write =
           // Curves are large files: the worker reads them, and says what is wrong with them.
       [](ScenarioRequest& request, const std::string& text, const Evaluation&) {
         request.calibration = isAuto(text) ? std::string{} : text;
       },
       .values = [](const Evaluation&) { return withAuto(presetNames(presets::PresetKind::Calibration)); },
       .tried = false});
}

}  // namespace

void checkCluster(const ScenarioRequest& request) {
  static_cast<void>(presets::look_up_cluster(request.cluster));
}

void writeGpuCount(ScenarioRequest& request, std::int64_t gpus) {
  ClusterRequest parts = partsOf(request);
  setGpus(parts, gpus);
  store(request, parts);
  request.layout.dp_given = false;  // data parallelism takes what is left
}

void appendClusterFields(std::vector<Field>& table) {
  appendHardware(table);
  appendMachine(table);
  appendNetwork(table);
  appendPrice(table);
}

}  // namespace hexaplan::gui
