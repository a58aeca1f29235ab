#include "presets/weights/weights_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "costmodel/parameters/parameter_tensors.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "presets/models/read_model_config.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::tests {
namespace {

namespace fs = std::filesystem;
using costmodel::ModelSpec;
using presets::StoredRun;
using presets::StoredType;
using presets::WeightMap;
using presets::WeightsReader;
using presets::WeightsWriter;

const fs::path kSharded = HEXAPLAN_SOURCE_DIR "/tests/golden/weights/sharded";

ModelSpec golden_model(const std::string& name) {
  const auto file =
      presets::read_json_file(HEXAPLAN_SOURCE_DIR "/tests/golden/transformers/" + name + ".json");
  return presets::model_from_config("config.json", "", *file.root.find("config"));
}

struct NamedParameter {
  int layer;
  std::string name;
  std::int64_t elements;
};
std::vector<NamedParameter> parameters_of(const ModelSpec& m) {
  std::vector<NamedParameter> out;
  for (int layer = WeightMap::kNoLayer; layer < m.layers + m.mtp_layers; ++layer) {
    std::vector<costmodel::ParameterTensor> tensors;
    if (layer == WeightMap::kNoLayer) {
      append_embedding_parameters(m, tensors);
      append_head_parameters(m, false, tensors);
    } else {
      append_layer_parameters(m, class_of_layer(m, layer), tensors);
    }
    for (const auto& t : tensors) out.push_back({layer, std::string{t.name}, t.elements()});
  }
  return out;
}

/// Of element i of a parameter: exact in bf16.
double own_value(const NamedParameter& p, std::int64_t i) {
  return static_cast<double>((3 * i + 5 * p.layer + std::ssize(p.name)) % 128 - 64) / 16;
}

TEST(weights_folder, a_sharded_checkpoint_of_transformers_is_read_through_its_index_and_transposed) {
  const ModelSpec model = presets::read_model_config(kSharded / "config.json");
  const WeightsReader reader{kSharded, model};
  const WeightMap map{model};
  for (const NamedParameter& p : parameters_of(model)) {
    std::vector<double> got(static_cast<std::size_t>(p.elements)), expected(got.size());
    reader.read(p.layer, p.name, 0, got);
    map.visit(p.layer, p.name, 0, p.elements, [&](const StoredRun& run) {
      const std::int64_t length = std::ssize(map.tensors()[run.tensor].name);
      for (std::int64_t i = 0; i < run.count; ++i)
        expected[static_cast<std::size_t>(run.at + i)] =
            static_cast<double>((7 * (run.first + i * run.stride) + length) % 64 - 32) / 32;
    });
    EXPECT_EQ(got, expected) << p.layer << " " << p.name;
  }
}

/// Everything that `writer` has to get, in pieces by two threads at once.
void write_in_pieces(WeightsWriter& writer, const ModelSpec& model) {
  const auto write_every_second = [&](std::int64_t odd) {
    constexpr std::int64_t kPiece = 29;
    for (const NamedParameter& p : parameters_of(model)) {
      for (std::int64_t first = odd * kPiece; first < p.elements; first += 2 * kPiece) {
        std::vector<double> values(static_cast<std::size_t>(std::min(kPiece, p.elements - first)));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = own_value(p, first + static_cast<std::int64_t>(i));
        writer.write(p.layer, p.name, first, values);
      }
    }
  };
  std::thread other{write_every_second, 1};
  write_every_second(0);
  other.join();
}

class written_weights : public testing::TestWithParam<std::string> {};

TEST_P(written_weights, are_read_back_as_they_were_from_one_file_or_several) {
  const ModelSpec model = golden_model(GetParam());
  for (const std::int64_t most_bytes : {presets::kMostBytesOfFile, std::int64_t{5000}}) {
    const TemporaryFolder folder;
    WeightsWriter writer{folder.path() / "made", model, StoredType::Bf16, most_bytes};
    writer.begin();
    write_in_pieces(writer, model);
    writer.commit(presets::JsonObject{{"model_type", model.family}});
    EXPECT_EQ(fs::exists(folder.path() / "made" / "model.safetensors"), most_bytes > 5000);
    EXPECT_TRUE(fs::exists(folder.path() / "made" / "config.json"));
    const WeightsReader reader{folder.path() / "made", model};
    for (const NamedParameter& p : parameters_of(model)) {
      std::vector<double> got(static_cast<std::size_t>(p.elements));
      reader.read(p.layer, p.name, 0, got);
      for (std::int64_t i = 0; i < p.elements; ++i)
        ASSERT_EQ(got[static_cast<std::size_t>(i)], own_value(p, i)) << p.layer << " " << p.name << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(families, written_weights,
                         testing::Values("llama", "phi3", "gpt2", "gpt_neox", "falcon", "mixtral", "gpt_oss",
                                         "deepseek_v3"),
                         [](const testing::TestParamInfo<std::string>& name) { return name.param; });

void expect_refused(const std::function<void()>& open, const std::string& says) {
  try {
    open();
    ADD_FAILURE() << says;
  } catch (const presets::InputError& error) {
    EXPECT_NE(std::string{error.what()}.find(says), std::string::npos) << error.what();
  }
}

TEST(weights_folder, copies_of_shared_tables_are_written_and_not_asked_for) {
  ModelSpec model = golden_model("deepseek_v3");
  model.mtp_layers = 1;
  const TemporaryFolder folder;
  WeightsWriter writer{folder.path(), model, StoredType::F32};
  writer.begin();
  write_in_pieces(writer, model);
  writer.commit(presets::JsonObject{{"model_type", model.family}});
  const presets::SafetensorsFile file{folder.path() / "model.safetensors"};
  const auto values_of = [&](const std::string& name) {
    const presets::SafetensorsEntry& entry = file.entries().find(name)->second;
    std::vector<double> values(static_cast<std::size_t>(entry.bytes() / 4));
    file.read(entry, 0, 1, values);
    return values;
  };
  const std::string module = "model.layers." + std::to_string(model.layers) + ".";
  EXPECT_EQ(values_of(module + "embed_tokens.weight"), values_of("model.embed_tokens.weight"));
  EXPECT_EQ(values_of(module + "shared_head.head.weight"), values_of("lm_head.weight"));
  EXPECT_NE(values_of(module + "shared_head.head.weight"), values_of("model.embed_tokens.weight"));
  EXPECT_NO_THROW((WeightsReader{folder.path(), model}));
}

TEST(weights_folder, a_checkpoint_without_the_modules_says_how_to_train_without_them) {
  ModelSpec model = golden_model("deepseek_v3");
  model.mtp_layers = 0;
  const TemporaryFolder folder;
  WeightsWriter writer{folder.path(), model, StoredType::F32};
  writer.begin();
  write_in_pieces(writer, model);
  writer.commit(presets::JsonObject{{"model_type", model.family}});
  model.mtp_layers = 1;
  expect_refused([&] { WeightsReader{folder.path(), model}; }, "num_nextn_predict_layers");
}

TEST(weights_folder, what_is_no_checkpoint_of_the_model_is_refused_with_the_tensor_that_says_so) {
  ModelSpec model = presets::read_model_config(kSharded / "config.json");
  expect_refused([&] { WeightsReader{"/nowhere", model}; }, "model.safetensors.index.json");
  ModelSpec deeper = model, wider = model;
  deeper.layers = 3;
  wider.mlp.ffn = 40;
  expect_refused([&] { WeightsReader{kSharded, deeper}; }, "transformer.h.2.");
  expect_refused([&] { WeightsReader{kSharded, wider}; }, "expected 40");
  const TemporaryFolder folder;
  static_cast<void>(folder.file("model.safetensors.index.json",
                                R"({"weight_map": {"transformer.wte.weight": "../elsewhere.safetensors"}})"));
  expect_refused([&] { WeightsReader{folder.path(), model}; }, "a file of the same folder");
}

TEST(weights_folder, names_without_the_first_part_are_found_as_in_the_published_gpt2) {
  const ModelSpec model = presets::read_model_config(kSharded / "config.json");
  const TemporaryFolder folder;
  std::vector<presets::SafetensorsEntry> entries;
  const WeightMap map{model};
  for (const presets::StoredTensor& t : map.tensors())
    entries.push_back(
        {.name = t.name.substr(t.name.find('.') + 1), .type = StoredType::F32, .shape = t.shape});
  std::string file = safetensors_header(entries);
  std::int64_t bytes = 0;
  for (const auto& e : entries) bytes += e.bytes();
  file.append(static_cast<std::size_t>(bytes), '\0');
  static_cast<void>(folder.file("model.safetensors", file));
  std::vector<double> values(3, 1.0);
  WeightsReader{folder.path(), model}.read(1, "mlp.up.weight", 5, values);
  EXPECT_EQ(values, std::vector<double>(3, 0.0));
}

}  // namespace
}  // namespace hexaplan::tests
