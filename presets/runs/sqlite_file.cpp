#include "presets/runs/sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <fstream>

#include "costmodel/units/file_uri.h"
#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
/// No text or blob of a file is larger: it would be held whole.
constexpr int kLargestValue = 16'000'000;

}  // namespace

bool SqliteFile::is_one(const std::filesystem::path& path) {
  std::array<char, kMagic.size()> start{};
  std::ifstream in{path, std::ios::binary};
  in.read(start.data(), start.size());
  return in.gcount() == static_cast<std::streamsize>(start.size()) &&
         std::string_view{start.data(), start.size()} == kMagic;
}

SqliteFile::SqliteFile(const std::filesystem::path& path) : path_{path} {
  // As a file that nobody changes, so that nothing is made beside it.
  const std::string uri = costmodel::file_uri(path.string(), "immutable=1");
  if (sqlite3_open_v2(uri.c_str(), &handle_, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr) != SQLITE_OK) {
    const std::string why = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    throw InputError({.file = path.string(), .value = why, .expected = "a database of SQLite"});
  }
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kLargestValue);
}

SqliteFile::~SqliteFile() {
  sqlite3_close(handle_);
}

void SqliteFile::fail() const {
  throw InputError({.file = path_.string(),
                    .value = sqlite3_errmsg(handle_),
                    .expected = "a database of SQLite that is whole",
                    .hint = "export it again"});
}

bool SqliteFile::has_table(std::string_view table) {
  return SqliteRows{*this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"}
      .bind(table)
      .next();
}

bool SqliteFile::has_column(std::string_view table, std::string_view column) {
  return SqliteRows{*this, "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"}
      .bind(table)
      .bind(column)
      .next();
}

SqliteRows::SqliteRows(SqliteFile& file, const std::string& select) : file_{file} {
  if (sqlite3_prepare_v2(file.handle_, select.c_str(), static_cast<int>(select.size()), &handle_, nullptr) !=
      SQLITE_OK)
    file_.fail();
}

SqliteRows::~SqliteRows() {
  sqlite3_finalize(handle_);
}

SqliteRows& SqliteRows::bind(std::string_view value) {
  if (sqlite3_bind_text(handle_, ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT) !=
      SQLITE_OK)
    file_.fail();
  return *this;
}

bool SqliteRows::next() {
  const int code = sqlite3_step(handle_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) file_.fail();
  return code == SQLITE_ROW;
}

std::int64_t SqliteRows::integer(int column) const {
  return sqlite3_column_int64(handle_, column);
}

bool SqliteRows::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

std::string_view SqliteRows::text(int column) const {
  const void* bytes = sqlite3_column_blob(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  return bytes == nullptr || size <= 0
             ? std::string_view{}
             : std::string_view{static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

}  // namespace hexaplan::presets
