#include "presets/weights/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "presets/json/file_descriptor.h"
#include "presets/json/input_error.h"
#include "presets/json/object_reader.h"
#include "presets/json/read_json.h"

namespace hexaplan::presets {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
/// The library refuses longer headers, too (safetensors/src/tensor.rs MAX_HEADER_SIZE).
constexpr std::uint64_t kLongestHeader = 100'000'000;
constexpr std::string_view kMetadata = "__metadata__";

[[noreturn]] void fail(const std::string& path, const char* expected) {
  throw InputError({.file = path, .expected = expected, .hint = std::strerror(errno)});
}

JsonArray as_json(const std::vector<std::int64_t>& numbers) {
  JsonArray out;
  for (const std::int64_t n : numbers) out.emplace_back(n);
  return out;
}

/// A tensor as the header describes it; nothing for one of a type that no weight has.
std::optional<SafetensorsEntry> read_entry(const std::string& file, const JsonMember& member,
                                           std::int64_t data_bytes) {
  const ValueReader value{file, "/" + member.first, member.second, Reading::Lenient};
  ObjectReader object = value.object();
  const std::optional<StoredType> type = stored_type_named(object.required("dtype").text());
  if (!type) return std::nullopt;
  constexpr IntegerRange kAny{0, std::int64_t{1} << 62};
  SafetensorsEntry entry{.name = member.first, .type = *type};
  entry.shape = object.required("shape").integers({0, 1LL << 40});
  const ValueReader where = object.required("data_offsets");
  const std::vector<std::int64_t> offsets = where.integers(kAny);
  const bool inside = offsets.size() == 2 && offsets[0] <= offsets[1] && offsets[1] <= data_bytes;
  if (!inside) throw where.error(fmt::format("begin and end among the file's {} bytes of data", data_bytes));
  double size = row_of(*type).bytes;
  for (const std::int64_t d : entry.shape) size *= static_cast<double>(d);
  if (size != static_cast<double>(offsets[1] - offsets[0]))
    throw where.error(fmt::format("{:.0f} bytes, as type and shape ask for", size));
  entry.begin = offsets[0];
  return entry;
}

}  // namespace

std::int64_t SafetensorsEntry::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>{});
}

std::string safetensors_header(std::vector<SafetensorsEntry>& entries) {
  // safetensors/src/tensor.rs prepare(): by descending dtype, whose order is that of its enum, then by name.
  constexpr std::array kDescending{StoredType::F64, StoredType::F32, StoredType::Bf16, StoredType::F16};
  const auto rank = [&](const SafetensorsEntry& e) {
    return std::find(kDescending.begin(), kDescending.end(), e.type) - kDescending.begin();
  };
  std::sort(entries.begin(), entries.end(), [&](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::pair{rank(a), std::string_view{a.name}} < std::pair{rank(b), std::string_view{b.name}};
  });
  JsonObject header;
  header.emplace_back(kMetadata, JsonObject{{"format", "pt"}});
  std::int64_t at = 0;
  for (SafetensorsEntry& e : entries) {
    e.begin = at;
    at += e.bytes();
    header.emplace_back(e.name, JsonObject{{"dtype", row_of(e.type).name},
                                           {"shape", as_json(e.shape)},
                                           {"data_offsets", as_json({e.begin, at})}});
  }
  std::string text = to_text(JsonValue{std::move(header)}, JsonStyle::Compact);
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  std::string out(kLengthBytes, '\0');
  const std::uint64_t length = text.size();
  std::memcpy(out.data(), &length, kLengthBytes);
  return out + text;
}

MappedFile::MappedFile(const std::filesystem::path& path) : MappedFile{path, false} {}

MappedFile MappedFile::to_write(const std::filesystem::path& path) {
  return MappedFile{path, true};
}

MappedFile::MappedFile(const std::filesystem::path& path, bool writes) : path_{path.string()} {
  const char* const wanted = writes ? "a file that can be written" : "a file that can be read";
  const FileDescriptor file{open(path_.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC)};
  struct stat facts {};
  if (file.get() < 0 || fstat(file.get(), &facts) != 0) fail(path_, wanted);
  size_ = static_cast<std::size_t>(facts.st_size);
  if (size_ == 0) return;
  void* const at =
      mmap(nullptr, size_, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) fail(path_, wanted);
  data_ = static_cast<std::byte*>(at);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_{std::move(other.path_)},
      data_{std::exchange(other.data_, nullptr)},
      size_{std::exchange(other.size_, 0)} {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

void MappedFile::sync() const {
  if (data_ != nullptr && msync(data_, size_, MS_SYNC) != 0) fail(path_, "a disk that takes it");
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_{path} {
  const std::string name = path.string();
  const std::span<const std::byte> bytes = file_.bytes();
  std::uint64_t length = 0;
  if (bytes.size() >= kLengthBytes) std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length < 2 || length > kLongestHeader || length > bytes.size() - kLengthBytes)
    throw InputError(
        {.file = name, .expected = "a safetensors file: its first 8 bytes are no header's length"});
  data_ = kLengthBytes + static_cast<std::size_t>(length);
  const auto* const text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
  const JsonDocument header = parse_json({text, static_cast<std::size_t>(length)}, name);
  const auto* members = header.root.get_if<JsonObject>();
  if (members == nullptr)
    throw InputError({.file = name, .expected = "a safetensors file: its header is no JSON object"});
  for (const JsonMember& member : *members) {
    if (member.first == kMetadata) continue;
    const auto left = static_cast<std::int64_t>(bytes.size() - data_);
    if (std::optional<SafetensorsEntry> entry = read_entry(name, member, left))
      entries_.emplace(entry->name, std::move(*entry));
  }
}

void SafetensorsFile::read(const SafetensorsEntry& entry, std::int64_t first, std::int64_t stride,
                           std::span<double> out) const {
  const int width = row_of(entry.type).bytes;
  const std::byte* at = file_.bytes().data() + data_ + entry.begin + first * width;
  for (double& x : out) {
    x = load_element(entry.type, at);
    at += stride * width;
  }
}

}  // namespace hexaplan::presets
