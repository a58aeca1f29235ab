#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace hexaplan::presets {

/// A database that another program wrote, opened to be read alone: nothing is made beside it, and neither its
/// schema nor its triggers can call anything (sqlite.org/security.html). InputError where it cannot be opened
/// or is damaged.
class SqliteFile {
 public:
  /// Whether a file begins as every SQLite database does (sqlite.org/fileformat2.html).
  [[nodiscard]] static bool is_one(const std::filesystem::path& path);

  explicit SqliteFile(const std::filesystem::path& path);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  /// A table of this name, and no view, which could be anything.
  [[nodiscard]] bool has_table(std::string_view table);
  [[nodiscard]] bool has_column(std::string_view table, std::string_view column);

 private:
  friend class SqliteRows;
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  sqlite3* handle_ = nullptr;
};

/// The rows of a SELECT of this program.
class SqliteRows {
 public:
  SqliteRows(SqliteFile& file, const std::string& select);
  ~SqliteRows();
  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;

  SqliteRows& bind(std::string_view value);
  /// Whether there is another row. InputError where the file is damaged.
  [[nodiscard]] bool next();
  /// Of what is no number, 0.
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] bool is_null(int column) const;
  /// Text, or the bytes of a blob; valid until the next row.
  [[nodiscard]] std::string_view text(int column) const;

 private:
  SqliteFile& file_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

}  // namespace hexaplan::presets
