#include "presets/runs/gpu_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <numeric>

#include "costmodel/units/trimmed.h"
#include "presets/json/input_error.h"
#include "presets/json/read_text_file.h"

namespace hexaplan::presets {
namespace {

constexpr double kMebibyte = 1 << 20;

/// Numbers of nvidia-smi --help-query-gpu that say something of a run.
enum class GpuColumn : std::uint8_t {
  Utilisation,
  MemoryUsed,
  MemoryTotal,
  Watts,
  SmClock,
  MostSmClock,
  Celsius
};
struct GpuColumnRow {
  GpuColumn column;
  std::string_view name, alias;
};
constexpr GpuColumnRow kGpuColumns[] = {
    {GpuColumn::Utilisation, "utilization.gpu", ""},
    {GpuColumn::MemoryUsed, "memory.used", ""},
    {GpuColumn::MemoryTotal, "memory.total", ""},
    {GpuColumn::Watts, "power.draw", "power.draw.average"},
    {GpuColumn::SmClock, "clocks.current.sm", "clocks.sm"},
    {GpuColumn::MostSmClock, "clocks.max.sm", ""},
    {GpuColumn::Celsius, "temperature.gpu", ""},
};
constexpr std::size_t kNumbers = std::size(kGpuColumns);
constexpr std::string_view kGpuNames[] = {"index", "pci.bus_id", "gpu_bus_id", "uuid", "gpu_uuid"};

/// Cells between commas, of which none holds one: nvidia-smi quotes nothing.
struct SmiTable {
  std::string file;
  std::vector<std::string_view> header;
  std::vector<std::vector<std::string_view>> rows;  // each as wide as the header
  std::vector<std::size_t> lines;                   // of the file, from 1
};

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    cells.push_back(costmodel::trimmed(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return cells;
}

SmiTable read_smi_table(std::string_view text, std::string file) {
  SmiTable table{.file = std::move(file), .header = {}, .rows = {}, .lines = {}};
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = costmodel::trimmed(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
    ++number;
    if (line.empty()) continue;
    std::vector<std::string_view> cells = cells_of(line);
    if (table.header.empty()) {
      table.header = std::move(cells);
      continue;
    }
    if (cells.size() != table.header.size())
      throw InputError({.file = fmt::format("{}:{}", table.file, number),
                        .value = fmt::format("{} cells", cells.size()),
                        .expected = fmt::format("{}, as many as the header has", table.header.size()),
                        .hint = "a line that is cut off can be left out"});
    table.rows.push_back(std::move(cells));
    table.lines.push_back(number);
  }
  return table;
}

/// The column's name, without its unit: "memory.used [MiB]".
std::string_view title_of_column(std::string_view cell) {
  return costmodel::trimmed(cell.substr(0, cell.find('[')));
}

/// "98 %", "61234 MiB", "1755"; nothing of "[N/A]", "[Not Supported]", "[Unknown Error]".
std::optional<double> number_of_cell(const SmiTable& table, std::size_t row, std::size_t column) {
  const std::string_view cell = table.rows[row][column];
  if (cell.empty() || cell.starts_with('[') || cell == "N/A") return std::nullopt;
  const std::string_view digits = cell.substr(0, cell.find(' '));
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  constexpr double kMost = 1e12;  // of no GPU's figure
  if (error == std::errc{} && end == digits.data() + digits.size() && number >= 0 && number <= kMost)
    return number;
  throw InputError({.file = fmt::format("{}:{}", table.file, table.lines[row]),
                    .field = std::string{title_of_column(table.header[column])},
                    .value = in_quotes(cell),
                    .expected = "a number, with or without its unit"});
}

using Samples = std::vector<std::array<std::optional<double>, kNumbers>>;

/// The numbers of one column in the samples that count.
std::vector<double> values_of(const Samples& samples, const std::vector<std::size_t>& counted,
                              GpuColumn column) {
  std::vector<double> values;
  for (const std::size_t i : counted) {
    if (const auto& value = samples[i][static_cast<std::size_t>(column)]) values.push_back(*value);
  }
  return values;
}

std::optional<double> mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
std::optional<double> most_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional{*std::max_element(values.begin(), values.end())};
}
std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
std::optional<costmodel::Bytes> bytes_of_mebi(std::optional<double> mebi) {
  return mebi ? std::optional{costmodel::Bytes{*mebi * kMebibyte}} : std::nullopt;
}

std::vector<std::size_t> busy_samples(const Samples& samples) {
  const auto utilisation = [&](std::size_t i) {
    return samples[i][static_cast<std::size_t>(GpuColumn::Utilisation)];
  };
  double most = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) most = std::max(most, utilisation(i).value_or(0));
  std::vector<std::size_t> counted;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (most == 0 || utilisation(i).value_or(0) >= most / 2) counted.push_back(i);
  }
  return counted;
}

void sum_up(LoggedGpu& gpu, const Samples& samples) {
  const std::vector<std::size_t> counted = busy_samples(samples);
  std::vector<std::size_t> all(samples.size());
  std::iota(all.begin(), all.end(), 0U);
  gpu.samples = samples.size();
  gpu.busy = counted.size();
  gpu.memory = bytes_of_mebi(most_of(values_of(samples, all, GpuColumn::MemoryUsed)));
  gpu.capacity = bytes_of_mebi(most_of(values_of(samples, all, GpuColumn::MemoryTotal)));
  gpu.utilisation = mean_of(values_of(samples, counted, GpuColumn::Utilisation));
  gpu.watts = mean_of(values_of(samples, counted, GpuColumn::Watts));
  gpu.sm_mhz = median_of(values_of(samples, counted, GpuColumn::SmClock));
  gpu.most_sm_mhz = most_of(values_of(samples, all, GpuColumn::MostSmClock));
  gpu.celsius = most_of(values_of(samples, all, GpuColumn::Celsius));
}

/// A column by one of its names; header.size(): none.
std::size_t find_column(const SmiTable& table, std::string_view name) {
  const auto found = std::find_if(table.header.begin(), table.header.end(),
                                  [&](std::string_view cell) { return title_of_column(cell) == name; });
  return static_cast<std::size_t>(found - table.header.begin());
}

}  // namespace

bool is_gpu_log(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::string line(4096, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(std::min<std::size_t>(static_cast<std::size_t>(file.gcount()), line.find('\n')));
  const std::vector<std::string_view> cells = cells_of(line);
  return std::ranges::any_of(kGpuColumns, [&](const GpuColumnRow& row) {
    return std::ranges::any_of(cells, [&](std::string_view cell) {
      const std::string_view title = title_of_column(cell);
      return title == row.name || (!row.alias.empty() && title == row.alias);
    });
  });
}

GpuLog parse_gpu_log(std::string_view text, std::string file) {
  const SmiTable table = read_smi_table(text, std::move(file));
  std::array<std::size_t, kNumbers> columns{};
  bool says_something = false;
  for (const GpuColumnRow& row : kGpuColumns) {
    std::size_t column = find_column(table, row.name);
    if (column == table.header.size() && !row.alias.empty()) column = find_column(table, row.alias);
    columns[static_cast<std::size_t>(row.column)] = column;
    says_something = says_something || column < table.header.size();
  }
  if (!says_something || table.rows.empty())
    throw InputError({.file = table.file,
                      .value = says_something ? "a header alone" : "none of these columns",
                      .expected = "samples of nvidia-smi --query-gpu=utilization.gpu,memory.used,power.draw,"
                                  "clocks.current.sm --format=csv -l 1"});
  std::size_t which = table.header.size();
  for (const std::string_view name : kGpuNames) which = std::min(which, find_column(table, name));
  const std::size_t named = find_column(table, "name");
  const auto cell = [&](std::size_t row, std::size_t column) {
    return column < table.header.size() ? std::string{table.rows[row][column]} : std::string{};
  };
  GpuLog log{.file = table.file, .gpus = {}};
  std::vector<Samples> samples;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string gpu = cell(row, which);
    auto found = std::ranges::find(log.gpus, gpu, &LoggedGpu::gpu);
    if (found == log.gpus.end()) {
      log.gpus.push_back({.gpu = gpu, .name = cell(row, named)});
      samples.emplace_back();
      found = log.gpus.end() - 1;
    }
    auto& sample = samples[static_cast<std::size_t>(found - log.gpus.begin())].emplace_back();
    for (std::size_t i = 0; i < kNumbers; ++i) {
      if (columns[i] < table.header.size()) sample[i] = number_of_cell(table, row, columns[i]);
    }
  }
  for (std::size_t i = 0; i < log.gpus.size(); ++i) sum_up(log.gpus[i], samples[i]);
  return log;
}

GpuLog read_gpu_log(const std::filesystem::path& path) {
  return parse_gpu_log(read_text_file(path), path.string());
}

}  // namespace hexaplan::presets
