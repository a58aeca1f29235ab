#include "presets/models/read_model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/units/nearest_name.h"
#include "presets/json/read_json.h"
#include "presets/models/model_families.h"
#include "presets/models/rotary_fields.h"

namespace hexaplan::presets {
namespace {

using costmodel::Activation;
using costmodel::GeluForm;
using costmodel::ModelSpec;

struct Nonlinearity {
  Activation activation;
  GeluForm gelu;
};
// transformers/activations.py: ACT2FN.
constexpr Named<Nonlinearity> kActivations[] = {
    {"silu", {Activation::Silu, GeluForm::Exact}},
    {"swish", {Activation::Silu, GeluForm::Exact}},
    {"gelu", {Activation::Gelu, GeluForm::Exact}},
    {"gelu_new", {Activation::Gelu, GeluForm::Tanh}},
    {"gelu_fast", {Activation::Gelu, GeluForm::Tanh}},
    {"gelu_pytorch_tanh", {Activation::Gelu, GeluForm::Tanh}},
    {"quick_gelu", {Activation::Gelu, GeluForm::Quick}},
    {"relu", {Activation::Relu, GeluForm::Exact}},
    {"relu2", {Activation::ReluSquared, GeluForm::Exact}},
    {"xielu", {Activation::Xielu, GeluForm::Exact}},
};

constexpr RealRange kEpsilon{0.0, 1.0};

ModelSpec block_features(Block block) {
  ModelSpec m;
  if (block == Block::Gpt) {
    m.norm = costmodel::NormKind::Layer;
    m.norm_bias = m.mlp.bias = m.attention.qkv_bias = m.attention.output_bias = true;
    m.mlp.gated = false;
  }
  return m;
}

void read_heads(ConfigFields& f, const ModelFamily& family, ModelSpec& m) {
  const DimensionKeys& keys = *family.keys;
  costmodel::AttentionSpec& a = m.attention;
  if (keys.heads.name.empty()) return;  // no layer attends
  a.heads = f.size(keys.heads, family.defaults.heads);
  a.kv_heads = f.integer(keys.kv_heads, family.defaults.kv_heads);
  a.head_dim = f.size(keys.head_dim, family.defaults.head_dim);
  if (a.kv_heads == 0) {
    a.kv_heads = a.heads;
  }
  if (a.heads % a.kv_heads != 0) {
    throw f.error(keys.kv_heads, a.kv_heads, fmt::format("a divisor of {} ({})", a.heads, keys.heads.name));
  }
  if (a.head_dim == kRoundedDown) a.head_dim = std::max<std::int64_t>(1, m.hidden / a.heads);
  if (a.head_dim == 0) {
    if (m.hidden % a.heads != 0) {
      throw f.error(keys.heads, a.heads, fmt::format("a divisor of {} ({})", m.hidden, keys.hidden.name));
    }
    a.head_dim = m.hidden / a.heads;
  }
  a.v_head_dim = a.head_dim;
}

void read_activation(ConfigFields& f, const ModelFamily& family, ModelSpec& m) {
  m.mlp.activation = family.activation;
  m.mlp.gelu = family.constants.gelu;
  for (const std::string_view key :
       {"hidden_activation", "hidden_act", "activation_function", "activation", "afn", "mlp_hidden_act"}) {
    if (const std::optional<ValueReader> name = f.value({key})) {
      const Nonlinearity said = name->choice(kActivations);
      m.mlp.activation = said.activation;
      m.mlp.gelu = said.gelu;
      return;
    }
  }
}

/// `tied`: unless the language model's own fields say it.
ModelSpec read_family(ConfigFields& f, const ModelFamily& family, bool tied) {
  const DimensionKeys& keys = *family.keys;
  const Dimensions& absent = family.defaults;
  ModelSpec m = block_features(family.block);
  m.family = family.model_type;
  m.layers = f.size(keys.layers, absent.layers, kLayers);
  m.hidden = f.size(keys.hidden, absent.hidden);
  m.vocab = f.size({"vocab_size"}, absent.vocab);
  m.mlp.ffn = f.size(keys.ffn, absent.ffn == 0 ? 4 * m.hidden : absent.ffn);
  m.max_positions = f.size(keys.positions, absent.positions);
  m.tied_embeddings = f.flag({"tie_word_embeddings"}, tied);
  read_heads(f, family, m);
  read_activation(f, family, m);
  m.rotary.base = family.constants.rope_base;
  m.norm_epsilon =
      f.number({"rms_norm_eps", "layer_norm_eps"},
               f.number({"layer_norm_epsilon", "norm_epsilon"},
                        f.number({"norm_eps"}, family.constants.norm_epsilon, kEpsilon), kEpsilon),
               kEpsilon);
  family.apply_rules(f, m);
  m.attention.packed = (family.packed & kPackedQkv) != 0;
  m.mlp.packed = (family.packed & kPackedGateUp) != 0;
  if (m.positions == costmodel::PositionKind::Rotary) m.rotary = read_rotary(f, m, m.rotary);
  return m;
}

void reject_giants(const std::string& file, const std::string& pointer, const ModelSpec& m) {
  if (const double parameters = rough_parameters(m); parameters > kMostParameters) {
    throw InputError({.file = file,
                      .field = pointer,
                      .value = fmt::format("a model of {:.3g} parameters", parameters),
                      .expected = fmt::format("at most {:.0e}: too large to plan", kMostParameters),
                      .hint = "check hidden size, layers, experts and vocabulary"});
  }
}

/// A multimodal wrapper that is not known, of a language model that is: what to do about it.
std::string wrapper_hint(const JsonValue& config, const std::vector<std::string_view>& names) {
  const JsonValue* text = config.find("text_config");
  const JsonValue* type = text == nullptr ? nullptr : text->find("model_type");
  const auto* name = type == nullptr ? nullptr : type->get_if<std::string>();
  const bool known = name != nullptr && std::find(names.begin(), names.end(), *name) != names.end();
  return known ? "save its \"text_config\" as a file of its own to plan the language model" : "";
}

/// Why a known model_type is not planned; empty: nobody has looked at it.
std::string_view reason_to_refuse(std::string_view model_type) {
  for (const RefusedFamily& family : refused_families()) {
    if (family.model_type == model_type) return family.reason;
  }
  return {};
}

/// The language model of a file. InputError for what is not known, with the reason where there is one.
LanguageModel find_language_model(const ValueReader& config) {
  const LanguageModel model = language_model_of(config.json());
  if (model.family != nullptr) return model;
  const std::vector<std::string_view> names = supported_model_types();
  if (!model.nested.empty()) {
    ObjectReader inner = config.object().required(model.nested).object();
    throw inner.required("model_type").error("one of " + listed(names));
  }
  ObjectReader reader = config.object();
  const std::optional<ValueReader> type = reader.optional("model_type");
  if (!type) {
    throw reader.error("model_type", "one of " + listed(names),
                       "is this the config.json of a Hugging Face model?");
  }
  const std::string hint = wrapper_hint(config.json(), names);
  if (const std::string_view reason = reason_to_refuse(type->text()); !reason.empty())
    throw type->error("another model_type", fmt::format("{} has {}: not modelled", type->text(), reason));
  if (!hint.empty()) throw type->error("one of " + listed(names), hint);
  static_cast<void>(type->choice_index(names));  // throws with the nearest name
  throw type->error("one of " + listed(names));
}

/// Name of a model that is known only by its file: the folder of a config.json, else the file.
std::string name_from_file(const std::string& file) {
  const std::filesystem::path path{file};
  const bool anonymous = path.filename() == "config.json" && path.has_parent_path();
  const std::string name = anonymous ? path.parent_path().filename().string() : path.stem().string();
  return name.empty() ? file : name;
}

}  // namespace

double rough_parameters(const ModelSpec& m) {
  std::array<double, costmodel::kLayerClasses> layers{};
  for (std::int64_t i = 0; i < m.layers; ++i) {
    layers[static_cast<std::size_t>(costmodel::index_of(costmodel::class_of_layer(m, i)))] += 1;
  }
  double total = 0;
  std::vector<costmodel::ParameterTensor> tensors;
  const auto add = [&](double times) {
    for (const costmodel::ParameterTensor& t : tensors) {
      total +=
          times * static_cast<double>(t.rows) * static_cast<double>(t.cols) * static_cast<double>(t.count);
    }
    tensors.clear();
  };
  for (int i = 0; i < costmodel::kMtpClass; ++i) {
    append_layer_parameters(m, costmodel::layer_class_at(m, i), tensors);
    add(layers[static_cast<std::size_t>(i)]);
  }
  append_embedding_parameters(m, tensors);
  append_head_parameters(m, false, tensors);
  add(1);
  append_layer_parameters(m, layer_class_at(m, costmodel::kMtpClass), tensors);
  add(m.mtp_layers);
  return total;
}

std::vector<std::string_view> supported_model_types() {
  std::vector<std::string_view> names;
  for (const ModelFamily& family : model_families()) names.push_back(family.model_type);
  for (const ModelWrapper& wrapper : model_wrappers()) names.push_back(wrapper.model_type);
  return names;
}

ModelSpec model_from_config(const std::string& file, const std::string& pointer, const JsonValue& config) {
  ValueReader model{file, pointer, config, Reading::Lenient};
  const LanguageModel found = find_language_model(model);
  bool tied = found.family->tied_embeddings;
  std::string type{found.family->model_type};
  if (found.wrapped) type = model.object().required("model_type").text();
  if (!found.nested.empty()) {
    ObjectReader whole = model.object();
    if (const auto said = whole.optional("tie_word_embeddings")) tied = said->boolean();
    model = whole.required(found.nested);
    static_cast<void>(model.object());  // InputError unless it is one
  }
  ConfigFields fields{file, model.pointer(), *model.json().get_if<JsonObject>()};
  ModelSpec spec = read_family(fields, *found.family, tied);
  spec.family = type;
  if (found.wrapped) spec.not_counted = kBesideLanguage;
  reject_giants(file, model.pointer(), spec);
  spec.name = name_from_file(file);
  return spec;
}

ModelSpec model_from_config_text(std::string_view json, std::string_view file_name) {
  const JsonDocument document = parse_json(json, std::string{file_name}, JsonDialect::Python);
  return model_from_config(document.file, "", document.root);
}

ModelSpec read_model_config(const std::filesystem::path& path) {
  const JsonDocument document = read_json_file(path, JsonDialect::Python);
  return model_from_config(document.file, "", document.root);
}

}  // namespace hexaplan::presets
