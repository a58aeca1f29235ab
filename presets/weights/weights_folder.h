#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/model_spec.h"
#include "presets/json/json_value.h"
#include "presets/weights/safetensors.h"
#include "presets/weights/weight_map.h"

namespace hexaplan::presets {

// A folder as Hugging Face's save_pretrained writes it: config.json, and model.safetensors, or several files
// with model.safetensors.index.json, which says where every tensor is.

/// Reads the weights of a model; several threads may.
class WeightsReader {
 public:
  /// Opens the files and finds every tensor of the model in them, with the shape that it has to have; further
  /// tensors are ignored. Names may lack their first part ("transformer."), as in checkpoints of the model
  /// without its output layer. Throws InputError.
  WeightsReader(const std::filesystem::path& folder, const costmodel::ModelSpec& model);

  /// Elements [first, first + out.size()) of the unsharded parameter `name` of `layer` (WeightMap::visit).
  void read(int layer, std::string_view name, std::int64_t first, std::span<double> out) const;

 private:
  struct Found {
    const SafetensorsFile* file = nullptr;
    const SafetensorsEntry* entry = nullptr;
  };
  void open_files(const std::filesystem::path& folder);
  [[nodiscard]] Found find(std::string_view name) const;

  WeightMap map_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::vector<Found> found_;  // by position in map_.tensors()
};

/// Most bytes of a file before the next one begins: save_pretrained's max_shard_size (transformers v5.23.0
/// modeling_utils.py).
inline constexpr std::int64_t kMostBytesOfFile = 50'000'000'000;

/// Writes the weights of a model, from several threads and processes of one host at once: every one puts its
/// elements in their places. Files take their names when all is written.
class WeightsWriter {
 public:
  WeightsWriter(std::filesystem::path folder, const costmodel::ModelSpec& model, StoredType type,
                std::int64_t most_bytes_of_file = kMostBytesOfFile);

  /// Makes folder and files, all elements 0. By one thread of one process, before others write.
  void begin() const;
  /// Elements [first, first + values.size()) of a parameter. Throws InputError when a file cannot be opened.
  void write(int layer, std::string_view name, std::int64_t first, std::span<const double> values);
  /// On disk, under their names, with `config` as config.json beside them. By one thread, when all others
  /// have written. Throws InputError.
  void commit(const JsonValue& config);

 private:
  struct File {
    std::string name;
    std::string header;
    std::vector<SafetensorsEntry> entries;
    std::int64_t bytes = 0;  // of the tensors
    std::unique_ptr<MappedFile> open;
  };
  struct Place {
    std::size_t file = 0, entry = 0;
  };
  [[nodiscard]] std::filesystem::path unfinished(const File& file) const;
  void open();
  void store(const Place& place, const StoredRun& run, std::span<const double> values);
  [[nodiscard]] JsonValue index() const;

  std::filesystem::path folder_;
  WeightMap map_;
  std::vector<File> files_;
  std::vector<Place> places_;                         // by position in map_.tensors()
  std::map<std::size_t, std::vector<Place>> copies_;  // by the original's
  std::once_flag opened_;
};

}  // namespace hexaplan::presets
