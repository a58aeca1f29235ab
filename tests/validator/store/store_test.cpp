// Kill, full disk, two processes, files that are no store: nothing that was added is lost, and every refusal
// says what to do.
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/support/temporary_folder.h"
#include "validator/measure/store/measurement_store.h"
#include "validator/measure/store/run_store.h"

namespace hexaplan::validator {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class Store : public testing::Test {
 protected:
  [[nodiscard]] fs::path file() const { return folder_ / "store.sqlite"; }
  /// The sentence with which opening ends.
  [[nodiscard]] std::string refusal(StoreUse use = StoreUse::Write) const {
    try {
      Database database{file(), use};
    } catch (const StoreError& error) {
      return error.what();
    }
    return "opened";
  }
  void run_sql(const char* sql) const {
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &raw), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(raw, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(raw);
    sqlite3_close(raw);
  }
  tests::TemporaryFolder own_;
  fs::path folder_ = own_.path();
};

const MachineIdentity kMachine{"cpu, float32", "here", "1"};

TEST_F(Store, keeps_the_newest_measurement_of_every_point_and_machine) {
  Database database{file()};
  MeasurementStore here{database, kMachine, "0.1"};
  here.add("gemm 1x2x3", "s", {0.1, 1e-300, 12345678.9});
  here.add("gemm 4x5x6", "s", {});
  here.add("gemm 1x2x3", "s", {0.25, 0.1 + 0.2});
  MeasurementStore driver_update{database, {"cpu, float32", "here", "2"}, "0.1"};
  EXPECT_TRUE(driver_update.newest().empty()) << "another driver's rates are other rates";

  Database again{file(), StoreUse::Write};
  const auto points = MeasurementStore{again, kMachine, "0.2"}.newest();
  ASSERT_EQ(points.size(), 2U);
  EXPECT_THAT(points.at("gemm 1x2x3").samples, ElementsAre(0.25, 0.1 + 0.2)) << "every bit is kept";
  EXPECT_EQ(points.at("gemm 1x2x3").unit, "s");
  EXPECT_EQ(points.at("gemm 1x2x3").version, "0.1");
  EXPECT_EQ(points.at("gemm 1x2x3").at.size(), std::string{"2026-11-22T01:02:03Z"}.size());
  EXPECT_TRUE(points.at("gemm 4x5x6").samples.empty());
}

TEST_F(Store, lists_runs_newest_first_and_gives_them_back_whole) {
  Database database{file()};
  RunStore runs{database};
  EXPECT_TRUE(runs.list().empty());
  EXPECT_EQ(runs.add({.kind = "run", .title = "llama, tp2", .report = "{\"a\": 1}"}), 1);
  EXPECT_EQ(runs.add({.at = "2026-11-22T00:00:00Z", .kind = "validate", .title = "20 scenarios"}), 2);
  EXPECT_EQ(runs.add({.kind = "run", .title = "with \"quotes\", ü and a\nline", .report = "{}"}), 3);
  const auto all = runs.list();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].title, "with \"quotes\", ü and a\nline");
  EXPECT_EQ(all[1].at, "2026-11-22T00:00:00Z");
  EXPECT_TRUE(all[2].report.empty()) << "reports are long";
  EXPECT_EQ(runs.list("validate").size(), 1U);
  EXPECT_EQ(runs.list({}, 2).size(), 2U);
  EXPECT_EQ(runs.get(1)->report, "{\"a\": 1}");
  EXPECT_FALSE(runs.get(4).has_value());
}

TEST_F(Store, a_run_that_goes_on_keeps_its_one_record) {
  Database database{file()};
  RunStore runs{database};
  RunRecord record{.at = "2026-11-22T00:00:00Z", .kind = "validate", .title = "1 of 7", .report = "{}"};
  EXPECT_FALSE(runs.update(record)) << "there is none yet";
  record.id = runs.add(record);
  record.title = "2 of 7";
  record.report = "{\"a\": 2}";
  EXPECT_TRUE(runs.update(record));
  EXPECT_EQ(runs.list().size(), 1U);
  EXPECT_EQ(runs.get(1)->title, "2 of 7");
  EXPECT_EQ(runs.get(1)->report, "{\"a\": 2}");
  record.at = "2026-11-22T00:00:01Z";
  EXPECT_FALSE(runs.update(record)) << "somebody else's record, in a file that took this one's place";
}

TEST_F(Store, refuses_what_is_no_store_of_ours_and_leaves_it_as_it_is) {
  std::ofstream{file()} << "These are the notes of a long day, not a database of measurements at all.\n";
  const auto size = fs::file_size(file());
  EXPECT_THAT(refusal(), HasSubstr("file is not a database; name another file with --store"));
  EXPECT_EQ(fs::file_size(file()), size);
  fs::remove(file());
  run_sql("CREATE TABLE photos(id INTEGER)");
  EXPECT_THAT(refusal(), HasSubstr("an SQLite file of another program"));
  fs::remove(file());
  { Database database{file()}; }
  run_sql("PRAGMA user_version=7");
  EXPECT_THAT(refusal(), HasSubstr("made by a newer Hexaplan (schema 7, known up to 1); update Hexaplan"));
}

TEST_F(Store, names_a_damaged_file_and_what_to_do) {
  {
    Database database{file()};
    MeasurementStore store{database, kMachine, "0.1"};
    for (int i = 0; i < 200; ++i) store.add("point " + std::to_string(i), "s", std::vector<double>(50, 0.1));
  }
  std::fstream raw{file(), std::ios::in | std::ios::out | std::ios::binary};
  raw.seekp(4096);
  raw << std::string(200000, 'x');
  raw.close();
  try {
    Database database{file()};
    MeasurementStore store{database, kMachine, "0.1"};
    (void)store.newest();
    FAIL() << "damage was not seen";
  } catch (const StoreError& error) {
    EXPECT_THAT(error.what(), HasSubstr("malformed; move it away"));
  }
}

TEST_F(Store, folders_are_made_for_writing_and_missing_files_are_named_when_reading) {
  EXPECT_THAT(refusal(StoreUse::Read), HasSubstr("unable to open database file"));
  EXPECT_FALSE(fs::exists(file()));
  const fs::path deep = folder_ / "a/b/store.sqlite";
  { Database database{deep}; }
  EXPECT_TRUE(fs::exists(deep));
  Database reader{deep, StoreUse::Read};
  EXPECT_THROW(RunStore{reader}.add({.kind = "run"}), StoreError);
}

/// Names in the store's folder.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator{folder}) names.push_back(entry.path().filename());
  return names;
}

TEST_F(Store, whoever_closes_it_last_leaves_the_one_file) {
  {
    Database writer{file()};
    RunStore{writer}.add({.kind = "run"});
    Database reader{file(), StoreUse::Read};
    EXPECT_EQ(RunStore{reader}.list().size(), 1U);
  }
  EXPECT_THAT(names_in(folder_), ElementsAre("store.sqlite"));
  {
    Database reader{file(), StoreUse::Read};
    EXPECT_EQ(RunStore{reader}.list().size(), 1U);
  }
  EXPECT_THAT(names_in(folder_), ElementsAre("store.sqlite")) << "after nothing but reading";
}

TEST_F(Store, reading_finishes_what_a_killed_writer_left_in_the_log) {
  Database writer{file()};
  RunStore{writer}.add({.kind = "run"});
  const fs::path copy = folder_ / "copy/store.sqlite";  // as a kill leaves them
  fs::create_directories(copy.parent_path());
  for (const char* suffix : {"", "-wal"}) fs::copy_file(file().string() + suffix, copy.string() + suffix);
  ASSERT_GT(fs::file_size(copy.string() + "-wal"), 0U);
  {
    Database reader{copy, StoreUse::Read};
    EXPECT_EQ(RunStore{reader}.list().size(), 1U);
  }
  EXPECT_THAT(names_in(copy.parent_path()), ElementsAre("store.sqlite"));
  Database again{copy, StoreUse::Read};
  EXPECT_EQ(RunStore{again}.list().size(), 1U);
}

/// What `act` returns in a process of its own that is nobody special: root may write everywhere.
int exit_code_of_nobody(const std::function<int()>& act) {
  constexpr uid_t kNobody = 65534;
  const pid_t process = fork();
  if (process == 0) {
    const bool dropped = geteuid() != 0 || setuid(kNobody) == 0;
    _exit(dropped ? act() : 9);
  }
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Store, is_read_in_a_folder_that_nobody_may_write) {
  const fs::path file = folder_ / "100 %? #1.sqlite";
  {
    Database writer{file};
    RunStore{writer}.add({.kind = "run"});
  }
  fs::permissions(file, fs::perms{0444});
  fs::permissions(folder_, fs::perms{0555});
  const int runs = exit_code_of_nobody([&] {
    if (access(folder_.c_str(), W_OK) == 0) return 8;
    try {
      Database reader{file, StoreUse::Read};
      return static_cast<int>(RunStore{reader}.list().size());
    } catch (const StoreError&) {
      return 7;
    }
  });
  fs::permissions(folder_, fs::perms{0755});
  EXPECT_EQ(runs, 1);
  EXPECT_THAT(names_in(folder_), ElementsAre("100 %? #1.sqlite"));
}

/// A writer in a process of its own, that says the number of each measurement after adding it.
struct Writer {
  pid_t process = -1;
  int said = -1;

  Writer(const fs::path& file, int id, rlim_t largest_file = RLIM_INFINITY) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) std::abort();
    process = fork();
    if (process == 0) {
      close(ends[0]);
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{largest_file, largest_file};
      setrlimit(RLIMIT_FSIZE, &limit);
      _exit(write(file, id, ends[1]));
    }
    close(ends[1]);
    said = ends[0];
  }
  static int write(const fs::path& file, int id, int out) try {
    Database database{file};
    MeasurementStore store{database, kMachine, "0.1"};
    const std::vector<double> samples(100, 1.0 / 3);
    for (std::int32_t i = 0;; ++i) {
      store.add(std::to_string(id) + "/" + std::to_string(i), "s", samples);
      if (::write(out, &i, sizeof i) != sizeof i) return 1;
    }
  } catch (const StoreError& error) {
    return std::string_view{error.what()}.find("what was added before is kept") != std::string_view::npos ? 4
                                                                                                          : 5;
  }
  /// Waits for its end; the last number that it said, −1 = none.
  std::int32_t last(int* status) const {
    std::int32_t last = -1, number = 0;
    while (read(said, &number, sizeof number) == sizeof number) last = number;
    waitpid(process, status, 0);
    close(said);
    return last;
  }
};

bool all_there(const std::map<std::string, StoredMeasurement, std::less<>>& points, int id,
               std::int32_t last) {
  for (std::int32_t i = 0; i <= last; ++i) {
    const auto found = points.find(std::to_string(id) + "/" + std::to_string(i));
    if (found == points.end() || found->second.samples.size() != 100) return false;
  }
  return true;
}

TEST_F(Store, kill_9_of_two_writers_loses_nothing_that_was_added) {
  int rounds_with_data = 0;
  for (int round = 0; round < 12; ++round) {
    fs::remove_all(folder_);
    const std::array writers{Writer{file(), 1}, Writer{file(), 2}};
    std::this_thread::sleep_for(std::chrono::milliseconds{15 + 12 * round});
    for (const Writer& writer : writers) kill(writer.process, SIGKILL);
    std::array<std::int32_t, 2> last{};
    for (std::size_t i = 0; i < 2; ++i) {
      int status = 0;
      last[i] = writers[i].last(&status);
      ASSERT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
    }
    if (last[0] < 0 && last[1] < 0) continue;
    ++rounds_with_data;
    Database database{file()};
    const auto points = MeasurementStore{database, kMachine, "0.1"}.newest();
    EXPECT_TRUE(all_there(points, 1, last[0])) << "round " << round;
    EXPECT_TRUE(all_there(points, 2, last[1])) << "round " << round;
    Statement check{database, "PRAGMA integrity_check"};
    ASSERT_TRUE(check.step());
    EXPECT_EQ(check.text(0), "ok");
  }
  EXPECT_GT(rounds_with_data, 0) << "no writer got as far as one measurement";
}

TEST_F(Store, a_full_disk_is_an_error_and_keeps_what_was_added) {
  const Writer writer{file(), 1, 200'000};
  int status = 0;
  const std::int32_t last = writer.last(&status);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_GT(last, 0);
  Database database{file()};
  MeasurementStore store{database, kMachine, "0.1"};
  EXPECT_TRUE(all_there(store.newest(), 1, last));
  store.add("afterwards", "s", {1.0});
}

TEST(default_store_file, follows_the_xdg_base_directories) {
  const char* const before = std::getenv("XDG_DATA_HOME");
  const std::string kept = before != nullptr ? before : "";
  setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(default_store_file(), "/data/hexaplan/measurements.sqlite");
  setenv("XDG_DATA_HOME", "relative", 1);
  EXPECT_THAT(default_store_file().string(), testing::EndsWith("hexaplan/measurements.sqlite"));
  before != nullptr ? setenv("XDG_DATA_HOME", kept.c_str(), 1) : unsetenv("XDG_DATA_HOME");
}

}  // namespace
}  // namespace hexaplan::validator
