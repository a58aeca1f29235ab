#include "presets/models/model_preset.h"

#include "presets/json/object_reader.h"
#include "presets/models/read_model_config.h"

namespace hexaplan::presets {

bool is_model_preset(const JsonDocument& document) {
  return document.root.find("config") != nullptr && document.root.find("model_type") == nullptr;
}

namespace {

/// Reads the names, and leaves the rest to the caller.
ModelNames read_names(ObjectReader& reader) {
  ModelNames names;
  names.name = reader.required("name").text();
  names.source = reader.required("source").text();
  if (const auto same = reader.optional("same_config")) {
    for (const ValueReader& hub_name : same->elements()) names.same_config.push_back(hub_name.text());
  }
  return names;
}

}  // namespace

ModelNames names_of_model_preset(const JsonDocument& document) {
  ObjectReader reader{document};
  return read_names(reader);
}

ModelPreset model_preset_from_document(const JsonDocument& document) {
  ObjectReader reader{document};
  ModelPreset preset{read_names(reader), {}};
  const ValueReader config = reader.required("config");
  reader.finish();
  preset.spec = model_from_config(document.file, config.pointer(), config.json());
  preset.spec.name = preset.name;
  return preset;
}

ModelPreset read_model_preset(const std::filesystem::path& path) {
  return model_preset_from_document(read_json_file(path));
}

}  // namespace hexaplan::presets
