#include <QCoreApplication>

#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/units/format_units.h"
#include "gui/app/setup/field_values.h"
#include "gui/app/setup/fields.h"
#include "presets/catalog/catalog.h"
#include "presets/models/find_model.h"
#include "presets/models/model_dimensions.h"
#include "presets/models/model_text.h"

namespace hexaplan::gui {
namespace {

using presets::ScenarioRequest;

/// How a dimension is shown; the order is that of the panel. What config.json calls it, and what it means,
/// is known to presets.
struct DimensionRow {
  const char* id;  // of presets::model_dimensions()
  const char* field;
  const char* label;
  const char* unit;
  const char* tip;
  bool advanced;
};
constexpr DimensionRow kDimensions[] = {
    {"layers", "model.layers", QT_TRANSLATE_NOOP("Field", "Layers"), "",
     QT_TRANSLATE_NOOP("Field", "Decoder layers."), false},
    {"hidden", "model.hidden", QT_TRANSLATE_NOOP("Field", "Hidden size"), "",
     QT_TRANSLATE_NOOP("Field", "Width of the residual stream."), false},
    {"ffn", "model.ffn", QT_TRANSLATE_NOOP("Field", "MLP width"), "",
     QT_TRANSLATE_NOOP("Field", "Width inside the MLP of a dense layer (intermediate size)."), true},
    {"heads", "model.heads", QT_TRANSLATE_NOOP("Field", "Heads"), "",
     QT_TRANSLATE_NOOP("Field", "Attention heads. Tensor parallelism must divide them."), true},
    {"kv_heads", "model.kv_heads", QT_TRANSLATE_NOOP("Field", "Key-value heads"), "",
     QT_TRANSLATE_NOOP("Field", "Heads of keys and values: fewer than heads in grouped-query attention."),
     true},
    {"head_dim", "model.head_dim", QT_TRANSLATE_NOOP("Field", "Head size"), "",
     QT_TRANSLATE_NOOP("Field", "Width of one attention head."), true},
    {"vocab", "model.vocab", QT_TRANSLATE_NOOP("Field", "Vocabulary"), QT_TRANSLATE_NOOP("Field", "tokens"),
     QT_TRANSLATE_NOOP("Field", "Tokens in the vocabulary, before the framework pads it."), true},
    {"max_positions", "model.max_positions", QT_TRANSLATE_NOOP("Field", "Context"),
     QT_TRANSLATE_NOOP("Field", "tokens"),
     QT_TRANSLATE_NOOP("Field", "Longest sequence the model was made for; rows of a learned position table."),
     true},
    {"window", "model.window", QT_TRANSLATE_NOOP("Field", "Sliding window"),
     QT_TRANSLATE_NOOP("Field", "tokens"),
     QT_TRANSLATE_NOOP("Field", "Tokens that a layer with a sliding window attends to."), true},
    {"experts", "model.experts", QT_TRANSLATE_NOOP("Field", "Experts"), "",
     QT_TRANSLATE_NOOP("Field", "Routed experts of a layer."), false},
    {"top_k", "model.top_k", QT_TRANSLATE_NOOP("Field", "Experts per token"), "",
     QT_TRANSLATE_NOOP("Field", "Routed experts that every token visits."), true},
    {"expert_ffn", "model.expert_ffn", QT_TRANSLATE_NOOP("Field", "Expert width"), "",
     QT_TRANSLATE_NOOP("Field", "Width inside one expert."), true},
    {"shared_ffn", "model.shared_ffn", QT_TRANSLATE_NOOP("Field", "Shared expert width"), "",
     QT_TRANSLATE_NOOP("Field", "Width of the expert that every token visits."), true},
    {"shared_experts", "model.shared_experts", QT_TRANSLATE_NOOP("Field", "Shared experts"), "",
     QT_TRANSLATE_NOOP("Field", "Experts that every token visits."), true},
    {"first_k_dense", "model.first_k_dense", QT_TRANSLATE_NOOP("Field", "Dense layers first"), "",
     QT_TRANSLATE_NOOP("Field", "Leading layers without experts."), true},
    {"q_lora_rank", "model.q_lora_rank", QT_TRANSLATE_NOOP("Field", "Query rank"), "",
     QT_TRANSLATE_NOOP("Field", "Rank of the compressed queries (latent attention)."), true},
    {"kv_lora_rank", "model.kv_lora_rank", QT_TRANSLATE_NOOP("Field", "Key-value rank"), "",
     QT_TRANSLATE_NOOP("Field", "Rank of the compressed keys and values (latent attention)."), true},
    {"qk_nope_dim", "model.qk_nope_dim", QT_TRANSLATE_NOOP("Field", "Head size, no position"), "",
     QT_TRANSLATE_NOOP("Field", "Width of a query or key head without positions (latent attention)."), true},
    {"qk_rope_dim", "model.qk_rope_dim", QT_TRANSLATE_NOOP("Field", "Head size, rotary"), "",
     QT_TRANSLATE_NOOP("Field", "Width of a query or key head with rotary positions (latent attention)."),
     true},
    {"v_head_dim", "model.v_head_dim", QT_TRANSLATE_NOOP("Field", "Value head size"), "",
     QT_TRANSLATE_NOOP("Field", "Width of a value head (latent attention)."), true},
    {"mtp_layers", "model.mtp_layers", QT_TRANSLATE_NOOP("Field", "MTP modules"), "",
     QT_TRANSLATE_NOOP("Field", "Multi-token prediction modules, trained beside the main model."), true},
};

constexpr std::int64_t kLargestDimension = 2'147'483'647;

const presets::ModelDimension& dimensionOf(std::string_view id) {
  for (const auto& dimension : presets::model_dimensions()) {
    if (dimension.id == id) return dimension;
  }
  return presets::model_dimensions().front();
}

Field dimensionField(const DimensionRow& row) {
  const std::string id = row.id;
  return {.id = row.field,
          .section = Section::Model,
          .advanced = row.advanced,
          .label = row.label,
          .unit = row.unit,
          .tip = row.tip,
          .formula = "P1",
          .editor = EditorKind::Text,
          .read = [id](const Evaluation& e) { return std::to_string(dimensionOf(id).of(e.scenario.model)); },
          .write =
              [id](ScenarioRequest& request, const std::string& text, const Evaluation& now) {
                const std::int64_t value = parseWhole(text, id, 1, kLargestDimension);
                // An answer may lag behind: never edit another model's config.
                const bool current = now.request.model == request.model && now.has_model;
                request.model = presets::with_dimension(
                    current ? now.model_config : presets::model_config(request.model), id, value);
              },
          .shown =
              [id](const Evaluation& e) {
                return e.has_model && presets::has_dimension(e.model_config, id) &&
                       dimensionOf(id).of(e.scenario.model) > 0;
              }};
}

std::string modelText(const Evaluation& e) {
  const auto* name = e.request.model.get_if<std::string>();
  if (name != nullptr) return *name;
  return e.has_model ? e.scenario.model.name : std::string{};
}

/// A file that is none is refused at the field instead of taking the model's place.
void checkModel(const ScenarioRequest& request) {
  static_cast<void>(presets::look_up_model(request.model));
}

QString modelSize(const Evaluation& e) {
  if (!e.has_model) return {};
  const auto counts = costmodel::count_parameters(e.scenario.model);
  return QCoreApplication::translate("Field", "%1 parameters")
      .arg(QString::fromStdString(costmodel::format_short(static_cast<double>(counts.total))));
}

}  // namespace

void appendModelFields(std::vector<Field>& table) {
  table.push_back({.id = "model",
                   .section = Section::Model,
                   .label = QT_TRANSLATE_NOOP("Field", "Model"),
                   .tip = QT_TRANSLATE_NOOP(
                       "Field",
                       "A published model, the path of a Hugging Face config.json, or dimensions: layers=8 "
                       "hidden=512 heads=8 ffn=1376 vocab=32000. Files can also be dropped onto the window."),
                   .formula = "P1",
                   .editor = EditorKind::Words,
                   .read = modelText,
                   .write =
                       [](ScenarioRequest& request, const std::string& text, const Evaluation& now) {
                         if (text == modelText(now)) return;  // an edited model keeps its edits
                         // InputError for a name nobody knows; of dimensions, checkModel says what is wrong.
                         if (!presets::is_model_text(text)) static_cast<void>(presets::model_file(text));
                         request.model = text;
                       },
                   .check = checkModel,
                   .values = [](const Evaluation&) { return presetNames(presets::PresetKind::Model); },
                   .tried = false,
                   .follows = modelSize});
  for (const DimensionRow& row : kDimensions) table.push_back(dimensionField(row));
}

}  // namespace hexaplan::gui
