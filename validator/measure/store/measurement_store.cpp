#include "validator/measure/store/measurement_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "costmodel/units/parse_number.h"

namespace hexaplan::validator {
namespace {

std::string text_of(const std::vector<double>& samples) {
  return fmt::format("{}", fmt::join(samples, " "));
}

std::vector<double> samples_of(const std::string& text) {
  std::vector<double> samples;
  std::string_view rest = text;
  while (const auto value = costmodel::take_number<double>(rest)) {
    samples.push_back(*value);
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
  }
  return samples;
}

}  // namespace

MeasurementStore::MeasurementStore(Database& database, const MachineIdentity& machine, std::string version)
    : database_{database}, version_{std::move(version)} {
  Statement insert{database_, "INSERT OR IGNORE INTO machine(device, host, software) VALUES(?, ?, ?)"};
  insert.bind(machine.device).bind(machine.host).bind(machine.software);
  (void)insert.step();
  Statement select{database_, "SELECT id FROM machine WHERE device = ? AND host = ? AND software = ?"};
  select.bind(machine.device).bind(machine.host).bind(machine.software);
  (void)select.step();
  machine_ = select.integer(0);
}

void MeasurementStore::add(std::string_view point, std::string_view unit,
                           const std::vector<double>& samples) {
  Statement insert{database_,
                   "INSERT INTO measurement(machine, at, version, point, unit, samples) "
                   "VALUES(?, ?, ?, ?, ?, ?)"};
  insert.bind(machine_).bind(utc_now()).bind(version_).bind(point).bind(unit).bind(text_of(samples));
  (void)insert.step();
}

std::map<std::string, StoredMeasurement, std::less<>> MeasurementStore::newest() {
  Statement select{database_,
                   "SELECT point, at, version, unit, samples FROM measurement WHERE machine = ? ORDER BY id"};
  select.bind(machine_);
  std::map<std::string, StoredMeasurement, std::less<>> points;
  while (select.step()) {
    points.insert_or_assign(select.text(0), StoredMeasurement{.at = select.text(1),
                                                              .version = select.text(2),
                                                              .unit = select.text(3),
                                                              .samples = samples_of(select.text(4))});
  }
  return points;
}

}  // namespace hexaplan::validator
