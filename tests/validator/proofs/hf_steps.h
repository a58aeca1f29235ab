// Golden files of tests/golden/transformers_oracle.py.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/json/read_json.h"
#include "presets/models/read_model_config.h"
#include "presets/weights/weight_map.h"
#include "tests/validator/proofs/global_parameters.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/parameters/initial_values.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::tests {

inline double number_in(const presets::JsonValue& value) {
  const auto* whole = value.get_if<std::int64_t>();
  return whole != nullptr ? static_cast<double>(*whole) : *value.get_if<double>();
}
inline std::vector<double> numbers_in(const presets::JsonValue& array) {
  std::vector<double> out;
  for (const presets::JsonValue& x : *array.get_if<presets::JsonArray>()) out.push_back(number_in(x));
  return out;
}

/// FNV-1a, as the oracle names its streams.
inline std::uint64_t stream_of_name(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}
/// Uniform in (-1, 1).
inline double uniform(std::uint64_t seed, std::uint64_t stream, std::size_t index) {
  const std::uint64_t bits = validator::counter_random(seed, stream, index) >> 11;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52 - 1;
}

/// Norm, dot products with three vectors, first and last element: what a golden file keeps of a tensor.
using Fingerprint = std::array<double, 6>;
inline Fingerprint fingerprint(std::uint64_t seed, std::string_view name, const std::vector<double>& v) {
  Fingerprint out{};
  const std::uint64_t stream = stream_of_name(name);
  for (std::size_t i = 0; i < v.size(); ++i) {
    out[0] += v[i] * v[i];
    for (std::size_t k = 1; k <= 3; ++k) out[k] += v[i] * uniform(seed + k, stream, i);
  }
  out[0] = std::sqrt(out[0]);
  out[4] = v.front();
  out[5] = v.back();
  return out;
}

inline int layer_of(int unit) {
  return unit < 0 ? presets::WeightMap::kNoLayer : unit;
}

/// transformers leaves multi-token-prediction modules out.
inline costmodel::ModelSpec without_modules(costmodel::ModelSpec model) {
  model.mtp_layers = 0;
  return model;
}

/// A golden file and the weights that it means.
class HfSteps {
 public:
  explicit HfSteps(const std::string& name)
      : file_{presets::read_json_file(std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/transformers/" +
                                      name + ".json")
                  .root},
        model_{without_modules(presets::model_from_config("config.json", "", (*this)["config"]))},
        map_{model_} {
    for (const presets::StoredTensor& t : map_.tensors()) {
      const presets::JsonValue& golden = tensor(t.name);
      const double center = number_in(*golden.find("center")), scale = number_in(*golden.find("scale"));
      const std::uint64_t stream = stream_of_name(t.name);
      std::vector<double>& values = weights_.emplace_back(static_cast<std::size_t>(t.elements()));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = center + scale * uniform(seed(), stream, i);
    }
  }

  [[nodiscard]] const presets::JsonValue& operator[](std::string_view key) const { return *file_.find(key); }
  [[nodiscard]] const presets::JsonValue& tensor(const std::string& name) const {
    return *(*this)["tensors"].find(name);
  }
  [[nodiscard]] std::uint64_t seed() const { return static_cast<std::uint64_t>(number_in((*this)["seed"])); }
  [[nodiscard]] double optimizer(std::string_view key) const {
    return number_in(*(*this)["optimizer"].find(key));
  }
  [[nodiscard]] const presets::WeightMap& map() const { return map_; }
  [[nodiscard]] const std::vector<std::vector<double>>& weights() const { return weights_; }

  [[nodiscard]] costmodel::Scenario scenario(const costmodel::Layout& layout) const {
    costmodel::Scenario sc = tiny_scenario(layout);
    sc.model = model_;
    sc.recipe.sequence = static_cast<std::int64_t>(number_in((*this)["sequence"]));
    sc.recipe.micro_batch = 1;
    sc.recipe.global_batch = static_cast<std::int64_t>(number_in((*this)["batch"]));
    return sc;
  }

  /// Of element `index` of a parameter.
  [[nodiscard]] double value(int unit, const std::string& name, std::int64_t index) const {
    const bool tied_copy = unit == validator::UnitPlan::kTiedCopy;
    double value = 0;
    map_.visit(layer_of(unit), tied_copy ? "embedding.word.weight" : name, index, 1,
               [&](const presets::StoredRun& run) {
                 value = weights_[run.tensor][static_cast<std::size_t>(run.first)];
               });
    return value;
  }

  /// Overwrites what the rank owns with the golden weights.
  void load(const validator::RankView& rank) const {
    set_parameters(rank, [&](int unit, const std::string& name, std::int64_t index) {
      return value(unit, name, index);
    });
  }

  /// The executor's tensors as the checkpoint holds them.
  [[nodiscard]] std::vector<std::vector<double>> stored(
      const validator::GlobalState::Tensors& tensors) const {
    std::vector<std::vector<double>> out;
    for (const presets::StoredTensor& t : map_.tensors())
      out.emplace_back(static_cast<std::size_t>(t.elements()), NAN);
    for (const auto& [key, values] : tensors) {
      map_.visit(layer_of(key.first), key.second, 0, std::ssize(values),
                 [&, &values = values](const presets::StoredRun& run) {
                   for (std::int64_t i = 0; i < run.count; ++i)
                     out[run.tensor][static_cast<std::size_t>(run.first + i * run.stride)] =
                         values[static_cast<std::size_t>(run.at + i)];
                 });
    }
    return out;
  }

 private:
  presets::JsonValue file_;
  costmodel::ModelSpec model_;
  presets::WeightMap map_;
  std::vector<std::vector<double>> weights_;
};

/// The executor's steps of a golden file.
struct Repeated {
  validator::ExecutionReport report;
  validator::GlobalState before, first_moment, master;
};
/// Runs as many steps as the file has, in float64, with its optimizer; `load` overwrites what a rank owns.
void repeat_steps(const HfSteps& golden, const costmodel::Scenario& scenario,
                  const std::function<void(const validator::RankView&)>& load, Repeated& out);

/// Both sides compute in float64; what is left is the order of sums.
inline constexpr double kOfLosses = 1e-10, kOfTensors = 1e-8;

/// The golden `tensor` has the figures of `values` under `what`; a norm below `smallest` counts as that.
void expect_fingerprint(const presets::JsonValue& tensor, std::uint64_t seed, const std::string& name,
                        const char* what, const std::vector<double>& values, double smallest);

}  // namespace hexaplan::tests
