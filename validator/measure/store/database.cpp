#include "validator/measure/store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <system_error>
#include <thread>

#include "costmodel/units/file_uri.h"

namespace hexaplan::validator {
namespace {

namespace fs = std::filesystem;

constexpr int kBusyMilliseconds = 10'000;
/// In the file's header (sqlite.org/fileformat2.html#application_id): "Hxpl".
constexpr std::int64_t kApplicationId = 0x4878706c;
constexpr std::int64_t kSchemaVersion = 1;

// `samples`: every repetition, in `unit`, apart by blanks. The newest row of a machine and point counts;
// older ones stay, for whoever asks how a machine changed.
constexpr const char* kSchema = R"(
CREATE TABLE machine(
  id INTEGER PRIMARY KEY,
  device TEXT NOT NULL,
  host TEXT NOT NULL,
  software TEXT NOT NULL,
  UNIQUE(device, host, software)
) STRICT;
CREATE TABLE measurement(
  id INTEGER PRIMARY KEY,
  machine INTEGER NOT NULL REFERENCES machine(id),
  at TEXT NOT NULL,
  version TEXT NOT NULL,
  point TEXT NOT NULL,
  unit TEXT NOT NULL,
  samples TEXT NOT NULL
) STRICT;
CREATE INDEX measurement_by_point ON measurement(machine, point);
CREATE TABLE run(
  id INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  machine TEXT NOT NULL,
  version TEXT NOT NULL,
  scenario TEXT NOT NULL,
  report TEXT NOT NULL
) STRICT;
)";

/// What a person can do about an SQLite result code.
struct Remedy {
  int code;
  const char* advice;
};
constexpr Remedy kRemedies[] = {
    {SQLITE_FULL, "free some space on its disk; what was added before is kept"},
    {SQLITE_IOERR, "see that its disk has space and is in order; what was added before is kept"},
    {SQLITE_BUSY, "wait for the other process that writes to it, or name another file with --store"},
    {SQLITE_READONLY, "make it writable, or name another file with --store"},
    {SQLITE_CANTOPEN, "name a file in a folder that can be written with --store"},
    {SQLITE_CORRUPT, "move it away; the next call makes a new one"},
    {SQLITE_NOTADB, "name another file with --store"},
};

const char* advice_for(int code) {
  for (const Remedy& remedy : kRemedies) {
    if (remedy.code == (code & 0xff)) return remedy.advice;
  }
  return "name another file with --store";
}

/// How SQLite opens a file.
struct OpenAs {
  std::string name;
  int flags = 0;
};

/// With a write-ahead log even reading makes files beside the database
/// (sqlite.org/wal.html#read_only_databases). Who may write removes them at the end. Who may not, and finds
/// no log, reads the file as one that nobody changes.
OpenAs reading(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path{"."};
  if (access(file.c_str(), W_OK) == 0 && access(folder.c_str(), W_OK) == 0)
    return {file.string(), SQLITE_OPEN_READWRITE};
  std::error_code none;
  const auto log = fs::file_size(file.string() + "-wal", none);
  if (!none && log > 0) return {file.string(), SQLITE_OPEN_READONLY};
  return {costmodel::file_uri(file.string(), "immutable=1"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI};
}

}  // namespace

StoreError::StoreError(const fs::path& file, const std::string& problem, const std::string& advice)
    : std::runtime_error{fmt::format("{}: {}; {}", file.string(), problem, advice)} {}

Database::Database(fs::path file, StoreUse use) : file_{std::move(file)} {
  if (use == StoreUse::Write && file_.has_parent_path()) {
    std::error_code error;
    fs::create_directories(file_.parent_path(), error);
    if (error) throw StoreError{file_, "its folder cannot be made: " + error.message(), kRemedies[4].advice};
  }
  try {
    open(use);
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::~Database() {
  sqlite3_close(handle_);
}

void Database::open(StoreUse use) {
  const OpenAs as = use == StoreUse::Read
                        ? reading(file_)
                        : OpenAs{file_.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
  const int code = sqlite3_open_v2(as.name.c_str(), &handle_, as.flags, nullptr);
  if (code != SQLITE_OK) fail(code);
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, kBusyMilliseconds);
  prepare_schema(use);
}

void Database::prepare_schema(StoreUse use) {
  const bool empty = number("SELECT count(*) FROM sqlite_master") == 0;
  const std::int64_t application = number("PRAGMA application_id");
  if ((!empty || application != 0) && application != kApplicationId)
    throw StoreError{file_, "an SQLite file of another program", "name another file with --store"};
  const std::int64_t version = number("PRAGMA user_version");
  if (version > kSchemaVersion) {
    throw StoreError{
        file_, fmt::format("made by a newer Hexaplan (schema {}, known up to {})", version, kSchemaVersion),
        "update Hexaplan, or name another file with --store"};
  }
  if (use == StoreUse::Read) return execute("PRAGMA query_only=1");
  choose_journal();
  execute("PRAGMA synchronous=FULL");
  if (version == kSchemaVersion) return;
  execute("BEGIN IMMEDIATE");  // whoever comes second finds the schema there
  if (number("PRAGMA user_version") == 0) {
    execute(kSchema);
    execute(fmt::format("PRAGMA application_id={}", kApplicationId).c_str());
    execute(fmt::format("PRAGMA user_version={}", kSchemaVersion).c_str());
  }
  execute("COMMIT");
}

/// The write-ahead log needs memory shared between processes, which some network file systems lack: SQLite
/// then stays with its rollback journal, which is as durable. The change of mode does not wait by itself.
void Database::choose_journal() {
  constexpr int kTries = 100;
  for (int left = kTries;; --left) {
    const int code = sqlite3_exec(handle_, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return;
    if ((code & 0xff) != SQLITE_BUSY || left == 0) fail(code);
    std::this_thread::sleep_for(std::chrono::milliseconds{kBusyMilliseconds / kTries});
  }
}

void Database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t Database::number(const char* sql) {
  Statement statement{*this, sql};
  return statement.step() ? statement.integer(0) : 0;
}

void Database::fail(int code) {
  const std::string problem = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  throw StoreError{file_, problem, advice_for(code)};
}

Statement::Statement(Database& database, std::string_view sql) : database_{database} {
  check(sqlite3_prepare_v2(database.handle_, sql.data(), static_cast<int>(sql.size()), &handle_, nullptr));
}

Statement::~Statement() {
  sqlite3_finalize(handle_);
}

void Statement::check(int code) {
  if (code != SQLITE_OK) database_.fail(code);
}

Statement& Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(handle_, ++bound_, value));
  return *this;
}
Statement& Statement::bind(double value) {
  check(sqlite3_bind_double(handle_, ++bound_, value));
  return *this;
}
Statement& Statement::bind(std::string_view value) {
  check(sqlite3_bind_text(handle_, ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_.fail(code);
  return code == SQLITE_ROW;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_, column);
}
double Statement::real(int column) const {
  return sqlite3_column_double(handle_, column);
}
std::string Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
  return text == nullptr ? std::string{} : std::string{text, text + size};
}

fs::path default_store_file() {
  // The specification ignores relative paths.
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && fs::path{data}.is_absolute()) return fs::path{data} / "hexaplan/measurements.sqlite";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return "measurements.sqlite";
  return fs::path{home} / ".local/share/hexaplan/measurements.sqlite";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace hexaplan::validator
