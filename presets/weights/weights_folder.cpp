#include "presets/weights/weights_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "presets/json/input_error.h"
#include "presets/json/object_reader.h"
#include "presets/json/read_json.h"

namespace hexaplan::presets {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

/// Files that the index names, each once.
std::vector<fs::path> indexed_files(const fs::path& folder) {
  const JsonDocument document = read_json_file(folder / kIndex);
  ObjectReader root{document, Reading::Lenient};
  std::set<std::string> names;
  for (const auto& [tensor, file] : root.required("weight_map").object().members()) {
    const std::string& name = file.text();
    if (fs::path{name}.has_parent_path()) throw file.error("a file of the same folder");
    names.insert(name);
  }
  std::vector<fs::path> files;
  files.reserve(names.size());
  for (const std::string& name : names) files.push_back(folder / name);
  return files;
}

std::string_view without_first_part(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, " x "));
}

void write_file(const fs::path& path, std::string_view begins_with, std::int64_t bytes) {
  errno = 0;
  std::ofstream file{path, std::ios::binary | std::ios::trunc};
  file.write(begins_with.data(), std::ssize(begins_with));
  file.close();
  std::error_code problem{file ? 0 : errno, std::generic_category()};
  if (!problem) fs::resize_file(path, static_cast<std::uintmax_t>(bytes), problem);
  if (!file || problem)
    throw InputError(
        {.file = path.string(), .expected = "a file that can be written", .hint = problem.message()});
}

}  // namespace

WeightsReader::WeightsReader(const fs::path& folder, const costmodel::ModelSpec& model) : map_{model} {
  open_files(folder);
  for (const StoredTensor& wanted : map_.tensors()) {
    if (!wanted.copy_of.empty()) {
      found_.emplace_back();  // nobody reads it
      continue;
    }
    Found found = find(wanted.name);
    if (found.entry == nullptr) found = find(without_first_part(wanted.name));
    if (found.entry == nullptr)
      throw InputError({.file = folder.string(),
                        .value = fmt::format("no tensor {}", in_quotes(wanted.name)),
                        .expected = fmt::format("the weights of {}", model.name),
                        .hint = wanted.of_module
                                    ? "transformers saves no multi-token-prediction modules; train without "
                                      "them: \"num_nextn_predict_layers\": 0 in config.json"
                                    : ""});
    if (found.entry->shape != wanted.shape)
      throw InputError({.file = folder.string(),
                        .field = wanted.name,
                        .value = shape_text(found.entry->shape),
                        .expected = fmt::format("{}, as {} has it", shape_text(wanted.shape), model.name)});
    found_.push_back(found);
  }
}

void WeightsReader::open_files(const fs::path& folder) {
  std::error_code ignored;
  const bool several = fs::exists(folder / kIndex, ignored);
  if (!several && !fs::exists(folder / kSingle, ignored))
    throw InputError(
        {.file = folder.string(), .expected = fmt::format("a folder with {} or {}", kSingle, kIndex)});
  const std::vector<fs::path> paths = several ? indexed_files(folder) : std::vector{folder / kSingle};
  for (const fs::path& path : paths) files_.push_back(std::make_unique<SafetensorsFile>(path));
}

WeightsReader::Found WeightsReader::find(std::string_view name) const {
  for (const auto& file : files_) {
    const auto entry = file->entries().find(name);
    if (entry != file->entries().end()) return {file.get(), &entry->second};
  }
  return {};
}

void WeightsReader::read(int layer, std::string_view name, std::int64_t first, std::span<double> out) const {
  map_.visit(layer, name, first, std::ssize(out), [&](const StoredRun& run) {
    const Found& found = found_[run.tensor];
    found.file->read(*found.entry, run.first, run.stride,
                     out.subspan(static_cast<std::size_t>(run.at), static_cast<std::size_t>(run.count)));
  });
}

WeightsWriter::WeightsWriter(fs::path folder, const costmodel::ModelSpec& model, StoredType type,
                             std::int64_t most_bytes_of_file)
    : folder_{std::move(folder)}, map_{model} {
  const std::int64_t width = row_of(type).bytes;
  for (const StoredTensor& t : map_.tensors()) {
    const std::int64_t bytes = t.elements() * width;
    if (files_.empty() || (files_.back().bytes > 0 && files_.back().bytes + bytes > most_bytes_of_file))
      files_.emplace_back();
    // All of one type: the file keeps the order by name that they come in.
    places_.push_back({files_.size() - 1, files_.back().entries.size()});
    files_.back().entries.push_back({.name = t.name, .type = type, .shape = t.shape});
    files_.back().bytes += bytes;
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::string& original = map_.tensors()[i].copy_of;
    if (original.empty()) continue;
    const auto found = std::ranges::find(map_.tensors(), original, &StoredTensor::name);
    copies_[static_cast<std::size_t>(found - map_.tensors().begin())].push_back(places_[i]);
  }
  for (std::size_t i = 0; i < files_.size(); ++i) {
    files_[i].name =
        files_.size() == 1 ? kSingle : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, files_.size());
    files_[i].header = safetensors_header(files_[i].entries);
  }
}

fs::path WeightsWriter::unfinished(const File& file) const {
  return folder_ / (file.name + ".unfinished");
}

void WeightsWriter::begin() const {
  std::error_code problem;
  fs::create_directories(folder_, problem);
  for (const File& file : files_)
    write_file(unfinished(file), file.header, std::ssize(file.header) + file.bytes);
}

void WeightsWriter::open() {
  for (File& file : files_) file.open = std::make_unique<MappedFile>(MappedFile::to_write(unfinished(file)));
}

void WeightsWriter::write(int layer, std::string_view name, std::int64_t first,
                          std::span<const double> values) {
  std::call_once(opened_, [this] { open(); });
  map_.visit(layer, name, first, std::ssize(values), [&](const StoredRun& run) {
    store(places_[run.tensor], run, values);
    const auto copies = copies_.find(run.tensor);
    if (copies == copies_.end()) return;
    for (const Place& copy : copies->second) store(copy, run, values);
  });
}

void WeightsWriter::store(const Place& place, const StoredRun& run, std::span<const double> values) {
  File& file = files_[place.file];
  const SafetensorsEntry& entry = file.entries[place.entry];
  const int width = row_of(entry.type).bytes;
  std::byte* at = file.open->writable().data() + file.header.size() + entry.begin + run.first * width;
  for (const double x :
       values.subspan(static_cast<std::size_t>(run.at), static_cast<std::size_t>(run.count))) {
    store_element(entry.type, x, at);
    at += run.stride * width;
  }
}

JsonValue WeightsWriter::index() const {
  JsonObject map;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    map.emplace_back(map_.tensors()[i].name, files_[places_[i].file].name);
    total += files_[places_[i].file].entries[places_[i].entry].bytes();
  }
  return JsonObject{{"metadata", JsonObject{{"total_size", total}}}, {"weight_map", std::move(map)}};
}

void WeightsWriter::commit(const JsonValue& config) {
  std::call_once(opened_, [this] { open(); });
  const auto write_text = [&](const char* name, const JsonValue& value) {
    const std::string text = to_text(value) + "\n";
    write_file(folder_ / name, text, std::ssize(text));
  };
  for (File& file : files_) {
    file.open->sync();
    file.open.reset();
    std::error_code problem;
    fs::rename(unfinished(file), folder_ / file.name, problem);
    if (problem)
      throw InputError({.file = (folder_ / file.name).string(),
                        .expected = "a file that can be written",
                        .hint = problem.message()});
  }
  if (files_.size() > 1) write_text(kIndex, index());
  write_text("config.json", config);
}

}  // namespace hexaplan::presets
