#include "validator/executor/report/collect.h"

#include <cassert>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace hexaplan::validator {
namespace {

/// One description of what is in a report, for both ways: Writer appends to `bytes`, Reader takes from it.
/// All ranks run the same program on machines of the same kind.
struct Writer {
  std::vector<std::byte> bytes;

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void value(const T& v) {
    const auto at = bytes.size();
    bytes.resize(at + sizeof v);
    std::memcpy(bytes.data() + at, &v, sizeof v);
  }
  void value(const std::string& text) {
    value(text.size());
    for (const char c : text) value(c);
  }
  template <class T, class Each>
  void list(const std::vector<T>& values, const Each& each) {
    value(values.size());
    for (const T& v : values) each(v);
  }
};

struct Reader {
  const std::byte* at;

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void value(T& v) {
    std::memcpy(&v, at, sizeof v);
    at += sizeof v;
  }
  void value(std::string& text) {
    std::size_t size = 0;
    value(size);
    text.resize(size);
    for (char& c : text) value(c);
  }
  template <class T, class Each>
  void list(std::vector<T>& values, const Each& each) {
    std::size_t size = 0;
    value(size);
    values.resize(size);
    for (T& v : values) each(v);
  }
};

template <class Archive, class Report>
void archive_memory(Archive& archive, Report& memory) {
  archive.value(memory.peak_bytes);
  archive.value(memory.peak_by_kind);
  archive.value(memory.peak_at);
  archive.list(memory.peak_tensors, [&](auto& tensor) {
    archive.value(tensor.name);
    archive.value(tensor.kind);
    archive.value(tensor.bytes);
  });
  archive.list(memory.timeline, [&](auto& sample) { archive.value(sample); });
}

void archive_layers(Writer& writer, const LayerTimes& layers) {
  writer.value(layers.size());
  for (const auto& [layer, phases] : layers) {
    writer.value(layer);
    writer.value(phases);
  }
}
void archive_layers(Reader& reader, LayerTimes& layers) {
  std::size_t size = 0;
  reader.value(size);
  for (; size > 0; --size) {
    int layer = 0;
    reader.value(layer);
    reader.value(layers[layer]);
  }
}

template <class Archive, class Report>
void archive_report(Archive& archive, Report& report) {
  archive.value(report.rank);
  archive.value(report.stage);
  archive.value(report.host);
  archive.value(report.process);
  archive.value(report.device);
  archive.list(report.step_times, [&](auto& time) { archive.value(time); });
  archive.value(report.phases);
  archive_layers(archive, report.layers);
  archive.value(report.compute);
  archive.value(report.timed_steps);
  archive.list(report.facts, [&](auto& fact) {
    archive.value(fact.name);
    archive.value(fact.value);
    archive.value(fact.unit);
    archive.value(fact.text);
  });
  archive_memory(archive, report.memory);
  archive_memory(archive, report.offloaded.memory);
  archive_memory(archive, report.offloaded.disk);
  archive.list(report.offloaded.copies, [&](auto& copy) {
    archive.value(copy.operation);
    archive.value(copy.pass);
    archive.value(copy.copies);
    archive.value(copy.bytes);
  });
  archive.list(report.traffic, [&](auto& row) {
    archive.value(row.operation);
    archive.value(row.pass);
    archive.value(row.kind);
    archive.value(row.group);
    archive.value(row.count);
  });
  archive.list(report.operations, [&](auto& operation) {
    archive.value(operation.name);
    archive.value(operation.pass);
    archive.value(operation.flops);
    archive.value(operation.timed_flops);
    archive.value(operation.time);
  });
}

}  // namespace

std::vector<RankReport> collect(Communicator& world, const RankReport& mine) {
  Writer writer;
  archive_report(writer, mine);
  std::vector<RankReport> reports;
  for (const std::vector<std::byte>& bytes : world.gather_bytes(writer.bytes)) {
    Reader reader{bytes.data()};
    archive_report(reader, reports.emplace_back());
  }
  return reports;
}

}  // namespace hexaplan::validator
