#include "validator/executor/checkpoint/checkpoint_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <iterator>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "validator/executor/checkpoint/durable_file.h"

namespace hexaplan::validator {
namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian");

constexpr std::string_view kMagic = "HXPCKPT\n";
constexpr std::uint32_t kFormat = 1;
constexpr std::size_t kChecksumBytes = 8;

/// Bytes that are written, or looked at, at a time.
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 22;

/// FNV-1a, 64 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv §6), of what has come so far.
class Checksum {
 public:
  void add(std::string_view bytes) {
    std::uint64_t hash = hash_;
    for (const char byte : bytes) {
      hash ^= static_cast<unsigned char>(byte);
      hash *= 1099511628211ULL;
    }
    hash_ = hash;
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 14695981039346656037ULL;
};

std::uint64_t checksum(const MappedFile& file, std::string_view content) {
  Checksum sum;
  for (; !content.empty(); content.remove_prefix(std::min(kBytesAtOnce, content.size()))) {
    sum.add(content.substr(0, kBytesAtOnce));
    file.let_go();
  }
  return sum.value();
}

template <class T>
void put(std::string& out, T value) {
  static_assert(std::is_arithmetic_v<T>);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}
void put(std::string& out, const std::string& text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

/// Takes numbers and texts from the front of a file; never beyond its end.
class Cursor {
 public:
  Cursor(std::string_view bytes, const std::string& path) : bytes_{bytes}, path_{path} {}

  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::string take_text() { return std::string{take_bytes(take<std::uint32_t>())}; }
  std::string_view take_bytes(std::size_t count) {
    if (count > bytes_.size() - at_) throw CheckpointError{path_ + " is cut off"};
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  std::string_view bytes_;
  const std::string& path_;
  std::size_t at_ = 0;
};

std::string file_name(int rank) {
  return fmt::format("rank-{:05}.hxp", rank);
}

void put_header(std::string& out, const CheckpointHeader& header) {
  out += kMagic;
  put(out, kFormat);
  put(out, header.step);
  put(out, static_cast<std::int32_t>(header.rank));
  put(out, static_cast<std::int32_t>(header.ranks));
  put(out, static_cast<std::int32_t>(header.element_bytes));
  put(out, header.model);
}

CheckpointHeader take_header(Cursor& cursor, const std::string& path) {
  if (cursor.take_bytes(kMagic.size()) != kMagic) throw CheckpointError{path + " is no file of a checkpoint"};
  const auto format = cursor.take<std::uint32_t>();
  if (format != kFormat) {
    throw CheckpointError{
        fmt::format("{} has format {}; this version of hexaplan reads format {}", path, format, kFormat)};
  }
  CheckpointHeader header;
  header.step = cursor.take<std::int64_t>();
  header.rank = cursor.take<std::int32_t>();
  header.ranks = cursor.take<std::int32_t>();
  header.element_bytes = cursor.take<std::int32_t>();
  header.model = cursor.take_text();
  return header;
}

std::unique_ptr<MappedFile> open_file(const std::string& path) {
  try {
    return std::make_unique<MappedFile>(path);
  } catch (const std::system_error& error) {
    throw CheckpointError{fmt::format("{}: {}", path, error.code().message())};
  }
}

std::string describe(const StateKey& key) {
  return fmt::format("{} of unit {} (state {})", key.name, key.unit, key.state);
}

}  // namespace

/// A file that is written from its beginning to its checksum.
class CheckpointWriter::Output {
 public:
  explicit Output(const std::string& path) : file_{path} { waiting_.reserve(2 * kBytesAtOnce); }

  [[nodiscard]] std::string& waiting() { return waiting_; }
  /// The numbers as T; writes what is enough for a piece.
  template <class T>
  void add(std::span<const double> values) {
    for (const double value : values) {
      put(waiting_, static_cast<T>(value));
      if (waiting_.size() >= kBytesAtOnce) flush();
    }
  }
  void commit() {
    flush();
    put(waiting_, sum_.value());
    flush();
    file_.commit();
  }

 private:
  void flush() {
    sum_.add(waiting_);
    file_.write(waiting_);
    waiting_.clear();
  }

  DurableFile file_;
  Checksum sum_;
  std::string waiting_;
};

CheckpointWriter::CheckpointWriter(CheckpointHeader header, const std::string& folder)
    : header_{std::move(header)} {
  write_of_checkpoint([&] { output_ = std::make_unique<Output>(folder + "/" + file_name(header_.rank)); });
}
CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::list(const StateKey& key, std::int64_t tensor_elements,
                            const std::vector<ElementRun>& runs) {
  assert(!table_written_);
  ++records_;
  put(table_, static_cast<std::int32_t>(key.unit));
  put(table_, key.name);
  put(table_, static_cast<std::int32_t>(key.state));
  put(table_, tensor_elements);
  put(table_, static_cast<std::uint32_t>(runs.size()));
  for (const ElementRun& run : runs) {
    put(table_, run.begin);
    put(table_, run.count);
    due_ += run.count;
  }
}

void CheckpointWriter::write_table() {
  if (std::exchange(table_written_, true)) return;
  std::string& out = output_->waiting();
  put_header(out, header_);
  put(out, records_);
  out += std::exchange(table_, {});
}

void CheckpointWriter::add(std::span<const double> values) {
  due_ -= std::ssize(values);
  assert(due_ >= 0);
  write_of_checkpoint([&] {
    write_table();
    header_.element_bytes == 8 ? output_->add<double>(values) : output_->add<float>(values);
  });
}

void CheckpointWriter::commit() {
  assert(due_ == 0);
  write_of_checkpoint([&] {
    write_table();
    output_->commit();
  });
}

CheckpointReader::CheckpointReader(const std::string& folder) : folder_{folder} {
  read_file(folder + "/" + file_name(0));
  for (int rank = 1; rank < header_.ranks; ++rank) read_file(folder + "/" + file_name(rank));
  for (auto& [key, tensor] : tensors_) {
    std::sort(tensor.runs.begin(), tensor.runs.end(),
              [](const StoredRun& a, const StoredRun& b) { return a.begin < b.begin; });
  }
}

void CheckpointReader::read_file(const std::string& path) {
  const std::size_t file = files_.size();
  const MappedFile& mapped = *files_.emplace_back(open_file(path));
  const std::string_view bytes = mapped.bytes();
  if (bytes.size() < kMagic.size() + kChecksumBytes) throw CheckpointError{path + " is cut off"};
  const std::string_view content = bytes.substr(0, bytes.size() - kChecksumBytes);
  Cursor cursor{content, path};
  CheckpointHeader header = take_header(cursor, path);
  std::uint64_t expected = 0;
  std::memcpy(&expected, bytes.data() + content.size(), sizeof expected);
  if (checksum(mapped, content) != expected)
    throw CheckpointError{path + " is damaged or cut off: its checksum does not agree"};
  if (file == 0) header_ = header;
  header.rank = header_.rank;
  if (header != header_)
    throw CheckpointError{fmt::format("{} belongs to another checkpoint than {}", path, file_name(0))};
  const auto records = cursor.take<std::int64_t>();
  std::vector<StoredRun*> in_order;
  std::vector<std::pair<StateKey, std::size_t>> added;
  for (std::int64_t i = 0; i < records; ++i) {
    StateKey key{.unit = cursor.take<std::int32_t>(), .name = cursor.take_text()};
    key.state = cursor.take<std::int32_t>();
    StoredTensor& tensor = tensors_[key];
    tensor.elements = cursor.take<std::int64_t>();
    const auto runs = cursor.take<std::uint32_t>();
    for (std::uint32_t r = 0; r < runs; ++r) {
      const auto begin = cursor.take<std::int64_t>();
      tensor.runs.push_back({begin, cursor.take<std::int64_t>(), file, 0});
      added.emplace_back(key, tensor.runs.size() - 1);
    }
  }
  auto at = static_cast<std::int64_t>(cursor.at());
  for (const auto& [key, index] : added) {
    StoredRun& run = tensors_[key].runs[index];
    run.at = at;
    at += run.count * header_.element_bytes;
  }
  if (at != static_cast<std::int64_t>(content.size()))
    throw CheckpointError{path + " is damaged: its records do not agree with its size"};
}

void CheckpointReader::copy_elements(const StoredRun& run, std::int64_t first, std::span<double> out) const {
  const char* from = files_[run.file]->bytes().data() + run.at + (first - run.begin) * header_.element_bytes;
  for (double& value : out) {
    if (header_.element_bytes == 8) {
      std::memcpy(&value, from, sizeof value);
    } else {
      float narrow = 0;
      std::memcpy(&narrow, from, sizeof narrow);
      value = narrow;
    }
    from += header_.element_bytes;
  }
}

void CheckpointReader::let_go() const {
  for (const auto& file : files_) file->let_go();
}

void CheckpointReader::read(const StateKey& key, std::int64_t tensor_elements, const ElementRun& run,
                            std::span<double> out) const {
  const auto found = tensors_.find(key);
  if (found == tensors_.end()) throw CheckpointError{fmt::format("{} holds no {}", folder_, describe(key))};
  const StoredTensor& tensor = found->second;
  if (tensor.elements != tensor_elements) {
    throw CheckpointError{fmt::format("{} in {} has {} elements; the model needs {}", describe(key), folder_,
                                      tensor.elements, tensor_elements)};
  }
  std::int64_t done = 0;
  while (done < run.count) {
    const std::int64_t at = run.begin + done;
    auto after = std::upper_bound(tensor.runs.begin(), tensor.runs.end(), at,
                                  [](std::int64_t index, const StoredRun& r) { return index < r.begin; });
    if (after == tensor.runs.begin() || at >= std::prev(after)->begin + std::prev(after)->count)
      throw CheckpointError{fmt::format("{} lacks element {} of {}", folder_, at, describe(key))};
    const StoredRun& stored = *std::prev(after);
    const std::int64_t count = std::min(run.count - done, stored.begin + stored.count - at);
    copy_elements(stored, at, out.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(count)));
    done += count;
  }
}

}  // namespace hexaplan::validator
