#pragma once
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace hexaplan::validator {

/// The store cannot be used; one line for a person: file, what is wrong, what to do.
class StoreError : public std::runtime_error {
 public:
  StoreError(const std::filesystem::path& file, const std::string& problem, const std::string& advice);
};

enum class StoreUse : std::uint8_t { Write, Read };

/// The SQLite file that keeps measurements and runs. What is added is on disk when the call that adds it
/// returns (write-ahead log, synchronised at every commit); a kill or a full disk loses nothing that was
/// added before. Several processes may use one file: a writer waits up to 10 s for another.
///
/// Whoever closes it last leaves nothing beside it: the log goes into the file. Reading changes nothing that
/// is in it, and works where nothing can be written.
///
/// Created with its folder when opened for writing. StoreError when it is no such file, damaged, made by a
/// newer Hexaplan, or cannot be opened; nothing is changed then. One thread uses one object.
class Database {
 public:
  explicit Database(std::filesystem::path file, StoreUse use = StoreUse::Write);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  friend class Statement;
  void open(StoreUse use);
  void prepare_schema(StoreUse use);
  void choose_journal();
  void execute(const char* sql);
  [[nodiscard]] std::int64_t number(const char* sql);
  [[noreturn]] void fail(int code);

  std::filesystem::path file_;
  sqlite3* handle_ = nullptr;
};

/// One SQL statement of this program; values are bound to its question marks in order. For the stores.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view value);
  /// True: there is a row. Throws StoreError.
  bool step();
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  void check(int code);
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

/// $XDG_DATA_HOME/hexaplan/measurements.sqlite, else ~/.local/share/hexaplan/measurements.sqlite (XDG base
/// directory specification 0.8); without a home: measurements.sqlite here.
[[nodiscard]] std::filesystem::path default_store_file();

/// Now, in UTC: "2026-11-22T01:02:03Z".
[[nodiscard]] std::string utc_now();

}  // namespace hexaplan::validator
