#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "costmodel/units/parse_number.h"
#include "costmodel/units/trimmed.h"
#include "presets/machines/machine_lines.h"
#include "presets/machines/machine_report.h"

namespace hexaplan::presets {
namespace {

constexpr std::size_t kDeepestXml = 32;

/// An element without others in it.
struct XmlLeaf {
  std::string path;  // "nvidia_smi_log/gpu/product_name"
  std::string text;
  int line = 0;
};

/// The elements of a log as nvidia-smi writes it: no entities, no text beside elements.
class XmlScanner {
 public:
  XmlScanner(std::string_view text, const std::string& file) : text_{text}, file_{file} {}

  std::vector<XmlLeaf> leaves() {
    for (std::size_t open = text_.find('<'); open != std::string_view::npos; open = text_.find('<', at_)) {
      const std::string_view between = text_.substr(at_, open - at_);
      advance(open);
      const std::size_t close = text_.find('>', open);
      if (close == std::string_view::npos) throw error("<", "the end of a tag");
      const std::string_view tag = text_.substr(open + 1, close - open - 1);
      if (tag.starts_with('/')) {
        end_element(tag.substr(1), between);
      } else if (!tag.starts_with('?') && !tag.starts_with('!')) {
        begin_element(tag);
      }
      advance(close + 1);
    }
    if (!open_.empty()) throw error("the end of the text", fmt::format("</{}>", open_.back()));
    return std::move(leaves_);
  }

 private:
  void begin_element(std::string_view tag) {
    const bool alone = tag.ends_with('/');
    const std::string name{tag.substr(0, std::min(tag.find_first_of(" \t\r\n/"), tag.size()))};
    const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-';
    });
    if (!plain || open_.size() >= kDeepestXml) throw error(tag, "an element of 'nvidia-smi -q -x'");
    if (alone) return;
    open_.push_back(name);
    has_elements_ = false;
  }
  void end_element(std::string_view name, std::string_view between) {
    if (open_.empty() || open_.back() != costmodel::trimmed(name))
      throw error(name, open_.empty() ? "the beginning of an element" : fmt::format("</{}>", open_.back()));
    if (!has_elements_)
      leaves_.push_back(
          {fmt::format("{}", fmt::join(open_, "/")), std::string{costmodel::trimmed(between)}, line_});
    open_.pop_back();
    has_elements_ = true;
  }
  void advance(std::size_t to) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }
  [[nodiscard]] InputError error(std::string_view value, std::string expected) const {
    return machine_error(file_, line_, value, std::move(expected));
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool has_elements_ = false;  // the element that is open had others
  std::vector<std::string> open_;
  std::vector<XmlLeaf> leaves_;
};

/// The number in front of "81559 MiB"; nothing for "N/A".
std::optional<double> number_in(const XmlLeaf& leaf) {
  return costmodel::parse_number<double>(std::string_view{leaf.text}.substr(0, leaf.text.find(' ')));
}

void take_leaf(const XmlLeaf& leaf, const std::string& file, MachineGpus& gpus) {
  constexpr std::string_view kRoot = "nvidia_smi_log/";
  const std::string_view path = std::string_view{leaf.path}.substr(std::min(kRoot.size(), leaf.path.size()));
  if (path == "attached_gpus") {
    const auto count = costmodel::parse_number<std::uint8_t>(leaf.text);
    if (!count || *count == 0) throw machine_error(file, leaf.line, leaf.text, "a number of GPUs, 1 to 255");
    gpus.count = *count;
  } else if (path == "gpu/product_name") {
    if (!gpus.name.empty() && gpus.name != leaf.text)
      throw machine_error(file, leaf.line, leaf.text,
                          fmt::format("one type of GPU; there is {}, too", in_quotes(gpus.name)));
    if (gpus.name.empty()) gpus.line = leaf.line;
    gpus.name = leaf.text;
  } else if (path == "gpu/fb_memory_usage/total") {
    if (const auto mib = number_in(leaf); mib && *mib > 0 && *mib < 1e9)
      gpus.memory_mib = static_cast<std::int64_t>(*mib);
  } else if (path == "gpu/mig_mode/current_mig") {
    gpus.instances = gpus.instances || leaf.text == "Enabled";
  } else if (path == "gpu/gpu_power_readings/current_power_limit" ||
             path == "gpu/power_readings/power_limit") {
    gpus.watts = number_in(leaf).value_or(0);
  } else if (path == "gpu/gpu_power_readings/default_power_limit" ||
             path == "gpu/power_readings/default_power_limit") {
    gpus.default_watts = number_in(leaf).value_or(0);
  }
}

}  // namespace

MachineGpus read_nvidia_smi(std::string_view xml, const std::string& file) {
  MachineGpus gpus;
  for (const XmlLeaf& leaf : XmlScanner{xml, file}.leaves()) take_leaf(leaf, file, gpus);
  if (gpus.name.empty() || gpus.count == 0)
    throw machine_error(file, 1, "a log without GPUs",
                        "<attached_gpus> and <product_name> of 'nvidia-smi -q -x'");
  return gpus;
}

}  // namespace hexaplan::presets
