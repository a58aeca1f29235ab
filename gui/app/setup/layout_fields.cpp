#include <QCoreApplication>
#include <algorithm>

#include "costmodel/units/format_units.h"
#include "gui/app/setup/field_values.h"
#include "gui/app/setup/fields.h"
#include "presets/json/input_error.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/layout_text.h"

namespace hexaplan::gui {
namespace {

using costmodel::Layout;
using presets::ScenarioRequest;

constexpr std::int64_t kMostDegree = 1'000'000;
constexpr std::int64_t kOfferedDegree = 1024;

/// A whole number of the layout.
struct DegreeRow {
  const char* id;
  int Layout::*member;
  bool advanced;
  bool zero_is_auto;
  std::int64_t offered;
  const char* label;
  const char* formula;
  const char* tip;
};
constexpr DegreeRow kDegrees[] = {
    {"layout.tp", &Layout::tp, false, false, 64, QT_TRANSLATE_NOOP("Field", "Tensor parallel"), "P2",
     QT_TRANSLATE_NOOP("Field",
                       "TP: ranks that share every layer's matrices. Talks in every layer: keep it inside "
                       "a node.")},
    {"layout.cp", &Layout::cp, false, false, 64, QT_TRANSLATE_NOOP("Field", "Context parallel"), "M2",
     QT_TRANSLATE_NOOP("Field", "CP: ranks that share every sequence, for long contexts.")},
    {"layout.pp", &Layout::pp, false, false, kOfferedDegree, QT_TRANSLATE_NOOP("Field", "Pipeline parallel"),
     "S2", QT_TRANSLATE_NOOP("Field", "PP: stages that share the layers. Costs a bubble, talks little.")},
    {"layout.vpp", &Layout::vpp, false, false, 32, QT_TRANSLATE_NOOP("Field", "Chunks per stage"), "S3",
     QT_TRANSLATE_NOOP("Field",
                       "VPP: model chunks per stage (interleaving). Smaller bubble, more messages and "
                       "activations.")},
    {"layout.ep", &Layout::ep, false, false, kOfferedDegree, QT_TRANSLATE_NOOP("Field", "Expert parallel"),
     "P2", QT_TRANSLATE_NOOP("Field", "EP: ranks that share the experts.")},
    {"layout.etp", &Layout::etp, true, true, 64, QT_TRANSLATE_NOOP("Field", "Expert tensor"), "P2",
     QT_TRANSLATE_NOOP("Field", "Tensor-parallel size of the experts; auto: that of the rest.")},
    {"layout.diloco", &Layout::outer_replicas, true, false, 64, QT_TRANSLATE_NOOP("Field", "Replicas apart"),
     "T18",
     QT_TRANSLATE_NOOP("Field",
                       "DiLoCo: replicas of all of this, one per site for example, that train apart between "
                       "outer steps. Data parallelism takes what is left of each.")},
};

Field degreeField(const DegreeRow& row) {
  const auto member = row.member;
  const bool zero_is_auto = row.zero_is_auto;
  const std::int64_t offered = row.offered;
  const std::string id = row.id;
  Field field{
      .id = row.id,
      .section = Section::Layout,
      .advanced = row.advanced,
      .label = row.label,
      .tip = row.tip,
      .formula = row.formula,
      .editor = zero_is_auto ? EditorKind::Words : EditorKind::Steps,
      .read =
          [member, zero_is_auto](const Evaluation& e) {
            const int n = e.request.layout.layout.*member;
            return n == 0 && zero_is_auto ? std::string{kAuto} : std::to_string(n);
          },
      .write =
          [member, id, zero_is_auto](ScenarioRequest& request, const std::string& text, const Evaluation&) {
            auto& layout = request.layout.layout;
            layout.*member = zero_is_auto && isAuto(text)
                                 ? 0
                                 : static_cast<int>(parseWhole(text, id.substr(7), 1, kMostDegree));
            request.layout.dp_given = false;  // data parallelism takes what is left
            // Chunks and interleaving go together.
            if (member == &Layout::vpp && layout.schedule == costmodel::ScheduleKind::OneFOneB &&
                layout.vpp > 1)
              layout.schedule = costmodel::ScheduleKind::Interleaved;
            if (layout.vpp == 1 && layout.schedule == costmodel::ScheduleKind::Interleaved)
              layout.schedule = costmodel::ScheduleKind::OneFOneB;
          },
      .values =
          [member, offered, zero_is_auto](const Evaluation& e) {
            const std::int64_t gpus = e.has_cluster ? e.scenario.cluster.gpus : 8;
            auto list = degrees(gpus, std::min(offered, gpus), std::max(1, e.request.layout.layout.*member));
            if (zero_is_auto) list.insert(list.begin(), kAuto);
            return list;
          }};
  if (member == &Layout::ep || member == &Layout::etp)
    field.shown = [](const Evaluation& e) { return e.has_model && e.scenario.model.moe.experts > 0; };
  return field;
}

/// A switch of the layout.
struct SwitchRow {
  const char* id;
  bool& (*of)(Layout&);
  bool advanced;
  const char* label;
  const char* formula;
  const char* tip;
};
constexpr SwitchRow kSwitches[] = {
    {"layout.sp", [](Layout& l) -> bool& { return l.sp; }, false,
     QT_TRANSLATE_NOOP("Field", "Sequence parallel"), "M2",
     QT_TRANSLATE_NOOP("Field",
                       "SP: tensor-parallel ranks also share norms and dropouts by tokens. Less memory at "
                       "the same traffic.")},
    {"layout.qwz", [](Layout& l) -> bool& { return l.sharding.quantized_weights; }, true,
     QT_TRANSLATE_NOOP("Field", "Quantised weights"), "C9",
     QT_TRANSLATE_NOOP("Field", "ZeRO++ qwZ: parameters are gathered in 8 bits.")},
    {"layout.qgz", [](Layout& l) -> bool& { return l.sharding.quantized_gradients; }, true,
     QT_TRANSLATE_NOOP("Field", "Quantised gradients"), "C9",
     QT_TRANSLATE_NOOP("Field", "ZeRO++ qgZ: gradients are reduced in 4 bits.")},
    {"layout.partition_activations", [](Layout& l) -> bool& { return l.partition_activations; }, true,
     QT_TRANSLATE_NOOP("Field", "Partition activations"), "M3",
     QT_TRANSLATE_NOOP("Field", "ZeRO-R: saved layer inputs are cut over tensor-parallel ranks.")},
};

Field switchField(const SwitchRow& row) {
  const auto of = row.of;
  return {.id = row.id,
          .section = Section::Layout,
          .advanced = row.advanced,
          .label = row.label,
          .tip = row.tip,
          .formula = row.formula,
          .editor = EditorKind::Check,
          .read =
              [of](const Evaluation& e) {
                Layout layout = e.request.layout.layout;
                return wordOf(of(layout));
              },
          .write = [of](ScenarioRequest& request, const std::string& text,
                        const Evaluation&) { of(request.layout.layout) = text == "true"; },
          .values = [](const Evaluation&) { return yesAndNo(); }};
}

/// A word of the layout that names the value of an enum.
template <class E, std::size_t N>
Field wordField(const char* id, bool advanced, const presets::Named<E> (&names)[N], E Layout::*member,
                const char* label, const char* formula, const char* tip) {
  return {.id = id,
          .section = Section::Layout,
          .advanced = advanced,
          .label = label,
          .tip = tip,
          .formula = formula,
          .editor = EditorKind::Choice,
          .read =
              [&names, member](const Evaluation& e) {
                return std::string{presets::name_in(names, e.request.layout.layout.*member)};
              },
          .write = [&names, member, id](
                       ScenarioRequest& request, const std::string& text,
                       const Evaluation&) { request.layout.layout.*member = parseWord(names, text, id); },
          .values = [&names](const Evaluation&) { return presets::names_in(names); }};
}

QString worldFollows(const Evaluation& e) {
  if (!e.has_cluster) return {};
  const Layout& l = e.scenario.layout;
  return QCoreApplication::translate("Field", "× %1 = %2 GPUs")
      .arg(static_cast<qint64>(l.ranks_per_dp()))
      .arg(static_cast<qint64>(l.world_size()));
}

Field dataParallel() {
  return {.id = "layout.dp",
          .section = Section::Layout,
          .label = QT_TRANSLATE_NOOP("Field", "Data parallel"),
          .tip = QT_TRANSLATE_NOOP("Field",
                                   "DP: copies of the model that share the batch. Follows from the GPUs and "
                                   "the other degrees; changing it changes the number of GPUs."),
          .formula = "C8",
          .editor = EditorKind::Steps,
          .read = [](const Evaluation& e) { return std::to_string(e.scenario.layout.dp); },
          .write =
              [](ScenarioRequest& request, const std::string& text, const Evaluation&) {
                const std::int64_t dp = parseWhole(text, "dp", 1, kMostDegree);
                const Layout& l = request.layout.layout;
                writeGpuCount(request, dp * l.ranks_per_dp());
                request.layout.dp_given = false;
                request.layout.layout.dp = 1;
              },
          .check = checkCluster,
          .values = [](const Evaluation& e) { return powersOfTwo(1, kOfferedDegree, e.scenario.layout.dp); },
          .follows = worldFollows};
}

Field zero() {
  return {.id = "layout.zero",
          .section = Section::Layout,
          .label = QT_TRANSLATE_NOOP("Field", "ZeRO stage"),
          .tip = QT_TRANSLATE_NOOP("Field",
                                   "What data-parallel ranks share instead of copying: 1 optimizer states, "
                                   "2 gradients too, 3 parameters too (FSDP)."),
          .formula = "M1",
          .editor = EditorKind::Choice,
          .read = [](const Evaluation& e) { return std::to_string(e.request.layout.layout.sharding.stage); },
          .write =
              [](ScenarioRequest& request, const std::string& text, const Evaluation&) {
                request.layout.layout.sharding.stage = static_cast<int>(parseWhole(text, "zero", 0, 3));
              },
          .values =
              [](const Evaluation&) {
                return std::vector<std::string>{"0", "1", "2", "3"};
              },
          .follows =
              [](const Evaluation& e) {
                static constexpr const char* names[] = {QT_TRANSLATE_NOOP("Field", "everything is copied"),
                                                        QT_TRANSLATE_NOOP("Field", "optimizer states shared"),
                                                        QT_TRANSLATE_NOOP("Field", "and gradients"),
                                                        QT_TRANSLATE_NOOP("Field", "and parameters (FSDP)")};
                const int stage = std::clamp(e.request.layout.layout.sharding.stage, 0, 3);
                return QCoreApplication::translate("Field", names[stage]);
              }};
}

Field shardGroup(const char* id, int costmodel::Sharding::*member, const char* label, const char* formula,
                 const char* tip) {
  return {.id = id,
          .section = Section::Layout,
          .advanced = true,
          .label = label,
          .unit = QT_TRANSLATE_NOOP("Field", "ranks"),
          .tip = tip,
          .formula = formula,
          .editor = EditorKind::Words,
          .read =
              [member](const Evaluation& e) {
                const int n = e.request.layout.layout.sharding.*member;
                return n == 0 ? std::string{kAuto} : std::to_string(n);
              },
          .write =
              [member](ScenarioRequest& request, const std::string& text, const Evaluation&) {
                request.layout.layout.sharding.*member =
                    isAuto(text) ? 0 : static_cast<int>(parseWhole(text, "shard group", 1, kMostDegree));
              },
          .values =
              [](const Evaluation& e) {
                auto list = powersOfTwo(2, std::max(2, e.scenario.layout.dp), 2);
                list.insert(list.begin(), kAuto);
                return list;
              }};
}

/// The words of a layout that start with `slot`, read and written as layout texts have them.
Field textField(const char* id, const char* slot, const char* label, const char* formula, const char* tip,
                std::vector<std::string> offered, std::string (*read)(const Layout&),
                void (*take)(Layout& into, const Layout& from)) {
  const std::string prefix = std::string{slot} + '=';
  return {.id = id,
          .section = Section::Layout,
          .advanced = true,
          .label = label,
          .tip = tip,
          .formula = formula,
          .editor = EditorKind::Words,
          .read = [read](const Evaluation& e) { return read(e.request.layout.layout); },
          .write =
              [prefix, take](ScenarioRequest& request, const std::string& text, const Evaluation&) {
                const bool named = text.find('/') == std::string::npos;
                take(request.layout.layout,
                     presets::parse_layout(named ? text : prefix + text, "layout").layout);
              },
          .values = [offered = std::move(offered)](const Evaluation&) { return offered; }};
}

std::string splitText(const Layout& layout) {
  if (layout.split != costmodel::StageSplit::Explicit)
    return std::string{presets::name_in(presets::kSplitNames, layout.split)};
  std::string text;
  for (const int layers : layout.stage_layers) text += (text.empty() ? "" : "/") + std::to_string(layers);
  return text;
}

std::string orderText(const Layout& layout) {
  std::string text;
  for (const auto axis : layout.order) {
    if (!text.empty()) text += '/';
    text += presets::name_in(presets::kOrderNames, axis);
  }
  return text;
}

void appendFineGrained(std::vector<Field>& table) {
  table.push_back(
      wordField("layout.context", true, presets::kContextNames, &Layout::context,
                QT_TRANSLATE_NOOP("Field", "Context exchange"), "C3",
                QT_TRANSLATE_NOOP("Field",
                                  "How context-parallel ranks see each other's keys and values: in "
                                  "a ring, gathered, or by exchanging heads (Ulysses).")));
  table.push_back(wordField("layout.vocab", true, presets::kVocabNames, &Layout::vocab,
                            QT_TRANSLATE_NOOP("Field", "Output layer"), "S2",
                            QT_TRANSLATE_NOOP("Field",
                                              "On the last stage, or spread over all stages "
                                              "(arXiv:2411.05288).")));
  table.push_back(textField(
      "layout.split", "stages", QT_TRANSLATE_NOOP("Field", "Stage split"), "S2",
      QT_TRANSLATE_NOOP("Field",
                        "How layers are cut into stages: a rule, or the layers of every chunk: 4/5/5/4."),
      presets::names_in(presets::kSplitNames), splitText, [](Layout& into, const Layout& from) {
        into.split = from.split;
        into.stage_layers = from.stage_layers;
      }));
  table.push_back(
      textField("layout.order", "order", QT_TRANSLATE_NOOP("Field", "Rank order"), "C6",
                QT_TRANSLATE_NOOP("Field", "Which axis lies on neighbouring GPUs, innermost first."),
                {"tp/cp/dp/pp", "tp/cp/pp/dp", "tp/dp/cp/pp", "dp/tp/cp/pp"}, orderText,
                [](Layout& into, const Layout& from) { into.order = from.order; }));
}

}  // namespace

void appendLayoutFields(std::vector<Field>& table) {
  table.push_back(dataParallel());
  for (const DegreeRow& row : kDegrees) {
    table.push_back(degreeField(row));
    if (std::string_view{row.id} == "layout.tp") table.push_back(switchField(kSwitches[0]));
  }
  table.push_back(wordField("layout.schedule", false, presets::kScheduleNames, &Layout::schedule,
                            QT_TRANSLATE_NOOP("Field", "Schedule"), "S1",
                            QT_TRANSLATE_NOOP("Field", "Order in which a stage runs its micro-batches.")));
  table.push_back(zero());
  appendFineGrained(table);
  table.push_back(shardGroup("layout.shard_group", &costmodel::Sharding::group,
                             QT_TRANSLATE_NOOP("Field", "Shard group"), "M1",
                             QT_TRANSLATE_NOOP("Field",
                                               "Ranks that share states between them, copies beyond (HSDP); "
                                               "auto: all.")));
  table.push_back(shardGroup("layout.hpz", &costmodel::Sharding::hpz,
                             QT_TRANSLATE_NOOP("Field", "Secondary group"), "C9",
                             QT_TRANSLATE_NOOP("Field",
                                               "ZeRO++ hpZ: ranks of a second copy of the parameters; auto: "
                                               "none.")));
  for (std::size_t i = 1; i < std::size(kSwitches); ++i) table.push_back(switchField(kSwitches[i]));
}

}  // namespace hexaplan::gui
