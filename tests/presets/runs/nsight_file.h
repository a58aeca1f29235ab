#pragma once
#include <sqlite3.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace hexaplan::presets {

/// An export of Nsight Systems that a test makes: the tables that are read, as version 3.28.1 of the schema
/// has them, without the columns that nobody reads.
class NsightFile {
 public:
  explicit NsightFile(std::filesystem::path path) : path_{std::move(path)} {
    std::filesystem::remove(path_);
    if (sqlite3_open(path_.c_str(), &handle_) != SQLITE_OK) throw std::runtime_error{"no database"};
    run("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
    run(R"(
      CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
      CREATE TABLE TARGET_INFO_GPU(id INTEGER NOT NULL, name TEXT);
      CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
        streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
        shortName INTEGER NOT NULL);
      CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
        correlationId INTEGER, nameId INTEGER NOT NULL);
      CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
        globalTid INTEGER, textId INTEGER, domainId INTEGER, binaryData BLOB);
      CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId INTEGER, schemaId INTEGER, idx INTEGER, type INTEGER,
        name TEXT, offset INTEGER);
      -- ncclCommInitRank, a collective, a send or receive
      INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES
        (1, 7, 0, 18, 'NCCL communicator ID', NULL), (1, 7, 1, 5, 'No. of ranks', 8), (1, 7, 2, 5, 'Rank', 12),
        (1, 8, 0, 18, 'NCCL communicator ID', NULL), (1, 8, 1, 22, 'Message size [bytes]', 8),
        (1, 9, 0, 18, 'NCCL communicator ID', NULL), (1, 9, 1, 22, 'Message size [bytes]', 8),
        (1, 9, 2, 5, 'Peer rank', 16);
    )");
  }
  ~NsightFile() {
    sqlite3_close(handle_);
    std::filesystem::remove(path_);
  }
  NsightFile(const NsightFile&) = delete;
  NsightFile& operator=(const NsightFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  void run(const std::string& sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      throw std::runtime_error{sqlite3_errmsg(handle_)};
  }

  static constexpr long long kProcess = 4711LL << 24;
  static long long thread(int number, long long process = kProcess) { return process + number; }

  void gpu(int device, const std::string& name) {
    run("INSERT INTO TARGET_INFO_GPU VALUES(" + std::to_string(device) + ", " + quoted(name) + ")");
  }
  /// Nanoseconds. A launch of `launch` 100 ns long stands on `on_thread`.
  void kernel(const std::string& name, long long start, long long end, long long launch, int on_thread = 1,
              int device = 0, long long process = kProcess, int stream = 7) {
    const std::string correlation = std::to_string(++correlations_);
    run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(" + std::to_string(start) + ", " +
        std::to_string(end) + ", " + std::to_string(device) + ", " + std::to_string(stream) + ", " +
        correlation + ", " + std::to_string(process) + ", " + id_of(name) + ", " + id_of(name) + ")");
    run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(" + std::to_string(launch) + ", " +
        std::to_string(launch + 100) + ", " + std::to_string(thread(on_thread, process)) + ", " +
        correlation + ", " + id_of("cudaLaunchKernel") + ")");
  }
  void range(const std::string& text, long long start, long long end, int on_thread = 1,
             long long process = kProcess, const std::string& payload = "NULL") {
    run("INSERT INTO NVTX_EVENTS VALUES(" + std::to_string(start) + ", " + std::to_string(end) + ", 59, " +
        quoted(text) + ", " + std::to_string(thread(on_thread, process)) + ", NULL, 0, " + payload + ")");
  }
  /// What Nsight Systems exports of the payloads of NCCL's three kinds of calls.
  static std::string made(unsigned long long communicator, int ranks, int rank) {
    return "x'" + word(1) + word(7) + word(16) + word(32) + word(communicator) + half(ranks) + half(rank) +
           "'";
  }
  static std::string sized(unsigned long long communicator, unsigned long long bytes) {
    return "x'" + word(1) + word(8) + word(16) + word(32) + word(communicator) + word(bytes) + "'";
  }
  static std::string to_peer(unsigned long long communicator, unsigned long long bytes, int peer) {
    return "x'" + word(1) + word(9) + word(24) + word(32) + word(communicator) + word(bytes) + half(peer) +
           "00000000'";
  }

 private:
  static std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string{"''"} : std::string{c};
    return out + "'";
  }
  static std::string little_endian(unsigned long long value, int bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    for (int i = 0; i < bytes; ++i, value >>= 8U) {
      text += kDigits[value >> 4U & 15U];
      text += kDigits[value & 15U];
    }
    return text;
  }
  static std::string word(unsigned long long value) { return little_endian(value, 8); }
  static std::string half(int value) { return little_endian(static_cast<unsigned>(value), 4); }

  std::string id_of(const std::string& text) {
    run("INSERT INTO StringIds(value) SELECT " + quoted(text) + " WHERE NOT EXISTS(SELECT 1 FROM StringIds " +
        "WHERE value = " + quoted(text) + ")");
    return "(SELECT id FROM StringIds WHERE value = " + quoted(text) + ")";
  }

  std::filesystem::path path_;
  sqlite3* handle_ = nullptr;
  int correlations_ = 0;
};

}  // namespace hexaplan::presets
