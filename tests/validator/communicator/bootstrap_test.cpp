// How processes that a launcher started find each other, and what they hear when they cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "validator/executor/communicator/bootstrap/bootstrap_error.h"
#include "validator/executor/communicator/bootstrap/launcher.h"
#include "validator/executor/communicator/bootstrap/store.h"

namespace hexaplan::validator {
namespace {

using costmodel::Seconds;
using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Environment environment_of(const Variables& variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  };
}

struct LauncherCase {
  const char* name;
  Variables environment;
  BootstrapFlags flags;
  const char* launcher;
  int process, processes, local_process;
  const char* host;
  int port;  // 0: made from the job's name
};

class Launchers : public testing::TestWithParam<LauncherCase> {};

TEST_P(Launchers, tell_who_this_process_is_and_where_all_meet) {
  const LauncherCase& c = GetParam();
  const auto place = find_job_place(c.flags, environment_of(c.environment));
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->launcher, c.launcher);
  EXPECT_EQ(place->process, c.process);
  EXPECT_EQ(place->processes, c.processes);
  EXPECT_EQ(place->local_process, c.local_process);
  EXPECT_EQ(place->meeting.host, c.host);
  if (c.port != 0) {
    EXPECT_EQ(place->meeting.port, c.port);
  } else {
    EXPECT_GE(place->meeting.port, 20000);
    EXPECT_LT(place->meeting.port, 32000);
  }
}

std::vector<LauncherCase> launcher_cases() {
  return {
      {"torchrun",
       {{"RANK", "9"},
        {"WORLD_SIZE", "16"},
        {"LOCAL_RANK", "1"},
        {"LOCAL_WORLD_SIZE", "8"},
        {"MASTER_ADDR", "node01"},
        {"MASTER_PORT", "29500"}},
       {},
       "torchrun",
       9,
       16,
       1,
       "node01",
       29501},
      {"slurm",
       {{"SLURM_PROCID", "3"},
        {"SLURM_STEP_NUM_TASKS", "8"},
        {"SLURM_LOCALID", "3"},
        {"SLURM_STEP_NODELIST", "gpu[07-08]"},
        {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
        {"SLURM_JOB_ID", "77"},
        {"SLURM_STEP_ID", "0"}},
       {},
       "Slurm",
       3,
       8,
       3,
       "gpu07",
       0},
      {"open_mpi_on_one_host",
       {{"OMPI_COMM_WORLD_RANK", "1"},
        {"OMPI_COMM_WORLD_SIZE", "4"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
        {"PMIX_NAMESPACE", "123"}},
       {},
       "Open MPI",
       1,
       4,
       1,
       "127.0.0.1",
       0},
      {"open_mpi_inside_a_slurm_job",
       {{"OMPI_COMM_WORLD_RANK", "5"},
        {"OMPI_COMM_WORLD_SIZE", "8"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
        {"SLURM_PROCID", "0"},
        {"SLURM_STEP_NUM_TASKS", "2"}},
       {.master = "head:4000"},
       "Open MPI",
       5,
       8,
       1,
       "head",
       4000},
      {"mpich",
       {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}},
       {},
       "MPICH or Intel MPI",
       0,
       2,
       0,
       "127.0.0.1",
       0},
      {"flags_go_before_launchers",
       {{"RANK", "9"}, {"WORLD_SIZE", "16"}, {"MASTER_ADDR", "node01"}, {"MASTER_PORT", "29500"}},
       {.rank = 1, .world = 2, .master = "[fe80::1]:5000"},
       "--rank",
       1,
       2,
       0,
       "fe80::1",
       5000},
  };
}
INSTANTIATE_TEST_SUITE_P(bootstrap, Launchers, testing::ValuesIn(launcher_cases()),
                         [](const auto& which) { return std::string{which.param.name}; });

struct RefusedCase {
  Variables environment;
  BootstrapFlags flags;
  const char* says;
};

TEST(bootstrap, what_is_not_enough_or_does_not_fit_says_what_is_missing) {
  const RefusedCase cases[] = {
      {{{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}},
       {},
       "process 4 of 4: expected 0 to 3"},
      {{{"RANK", "x"}, {"WORLD_SIZE", "4"}}, {}, "RANK is \"x\", expected a whole number"},
      {{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}},
       {},
       "name it with --master host:port"},
      {{}, {.rank = 1, .world = 2}, "--rank, --world and --master belong together"},
      {{}, {.master = "a:1"}, "add --rank and --world"},
      {{}, {.rank = 0, .world = 2, .master = "nowhere"}, "expected host:port"},
      {{}, {.rank = 0, .world = 2, .master = "a:99999"}, "expected host:port"},
  };
  for (const RefusedCase& c : cases) {
    try {
      (void)find_job_place(c.flags, environment_of(c.environment));
      ADD_FAILURE() << "accepted; expected: " << c.says;
    } catch (const BootstrapError& error) {
      EXPECT_THAT(error.what(), HasSubstr(c.says));
    }
  }
}

TEST(bootstrap, a_batch_script_that_srun_did_not_start_is_alone) {
  EXPECT_FALSE(
      find_job_place({}, environment_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})).has_value());
  EXPECT_FALSE(find_job_place({}, environment_of({})).has_value());
}

TEST(bootstrap, jobs_with_different_names_meet_at_different_ports) {
  Variables variables{{"SLURM_PROCID", "0"},
                      {"SLURM_STEP_NUM_TASKS", "2"},
                      {"SLURM_STEP_NODELIST", "a[1-2]"},
                      {"SLURM_JOB_ID", "1001"}};
  const int first = find_job_place({}, environment_of(variables))->meeting.port;
  variables["SLURM_JOB_ID"] = "1002";
  EXPECT_NE(find_job_place({}, environment_of(variables))->meeting.port, first);
}

TEST(bootstrap, the_first_host_of_a_slurm_list) {
  const std::pair<const char*, const char*> rows[] = {{"node1", "node1"},
                                                      {"gpu[07-12,15],login", "gpu07"},
                                                      {"a,b", "a"},
                                                      {"r[3,5]n[01-02].cluster", "r3n01.cluster"},
                                                      {"x[9]", "x9"}};
  for (const auto& [list, first] : rows) EXPECT_EQ(first_host(list), first);
}

// --- the store ---

const StoreJob kJob{"job 1", 4};
constexpr Seconds kSoon{10};

Blob blob(const std::string& text) {
  const auto bytes = std::as_bytes(std::span{text});
  return {bytes.begin(), bytes.end()};
}

std::string error_of(const std::function<void()>& program) {
  try {
    program();
  } catch (const BootstrapError& error) {
    return error.what();
  }
  return "no error";
}

TEST(store, hands_out_values_and_gathers_from_all_ranks) {
  StoreServer server{kJob, 0};
  std::vector<std::future<std::string>> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(std::async(std::launch::async, [&server, rank]() -> std::string {
      Store store{{"127.0.0.1", server.port()}, kJob, rank, kSoon};
      if (rank == 2) store.set("id", blob(std::string(128, 'x')));
      if (store.get("id") != blob(std::string(128, 'x'))) return "another id";
      if (store.find("nothing")) return "found what nobody set";
      for (int round = 0; round < 3; ++round) {
        const std::string mine =
            std::to_string(rank) + std::string(static_cast<std::size_t>(rank * 1000), '.');
        const auto all = store.meet("reports", rank, 4, blob(mine));
        for (std::size_t r = 0; r < 4; ++r) {
          if (all[r] != blob(std::to_string(r) + std::string(r * 1000, '.'))) return "another report";
        }
      }
      return {};
    }));
  }
  for (auto& rank : ranks) EXPECT_EQ(rank.get(), "");
}

/// A port that was free a moment ago.
int free_port() {
  return port_of(listen_on(0));
}

/// Another process that comes to the store; its exit code.
template <class Program>
pid_t start_process(const Program& program) {
  const pid_t child = fork();
  if (child == 0) {
    int code = 1;
    try {
      code = program();
    } catch (const std::exception&) {
      code = 2;
    }
    _exit(code);
  }
  return child;
}

TEST(store, processes_may_come_before_the_server_does) {
  const int port = free_port();
  const StoreJob job{"early", 3};
  std::vector<pid_t> children;
  for (int rank = 1; rank < 3; ++rank) {
    children.push_back(start_process([&] {
      Store store{{"localhost", port}, job, rank, kSoon};
      return store.meet("all", rank, 3, {}).size() == 3 ? 0 : 1;
    }));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{150});
  {
    StoreServer server{job, port};
    Store store{{"localhost", port}, job, 0, kSoon};
    EXPECT_EQ(store.meet("all", 0, 3, {}).size(), 3U);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST(store, a_rank_that_is_killed_ends_all_waits_and_is_named) {
  const int port = free_port();
  const StoreJob job{"killed", 2};
  const pid_t child = start_process([&] {
    Store store{{"localhost", port}, job, 1, kSoon}, second{{"localhost", port}, job, 1, kSoon};
    store.set("here", {});
    std::raise(SIGKILL);
    return 0;
  });
  StoreServer server{job, port};
  Store store{{"localhost", port}, job, 0, kSoon};
  (void)store.get("here");
  EXPECT_THAT(error_of([&] { store.meet("all", 0, 2, {}); }), HasSubstr("rank 1 has gone without a word"));
  EXPECT_THAT(error_of([&] { (void)store.get("never"); }), HasSubstr("rank 1 has gone without a word"));
  waitpid(child, nullptr, 0);
}

TEST(store, a_rank_that_interrupts_one_of_its_connections_has_not_died) {
  StoreServer server{kJob, 0};
  const Address at{"127.0.0.1", server.port()};
  Store other{at, kJob, 0, kSoon};
  {
    Store first{at, kJob, 1, kSoon}, second{at, kJob, 1, kSoon};
    first.interrupt();
    EXPECT_NE(error_of([&] { (void)first.get("anything"); }), "no error");
    second.set("fault", blob("what happened"));
  }
  EXPECT_EQ(other.get("fault"), blob("what happened"));
  EXPECT_EQ(error_of([&] { (void)other.find("nothing"); }), "no error");
}

TEST(store, who_does_not_come_in_time_is_named) {
  StoreServer server{{"late", 3}, 0};
  Store store{{"127.0.0.1", server.port()}, {"late", 3}, 0, Seconds{0.5}};
  EXPECT_THAT(error_of([&] { store.meet("start", 0, 3, {}); }),
              HasSubstr("waited 0.5 s for start: ranks 1, 2 did not come"));
  EXPECT_THAT(error_of([&] { (void)store.get("id"); }), HasSubstr("waited 0.5 s for id: nobody has set it"));
}

TEST(store, a_rank_that_is_ahead_waits_until_process_0_comes_to_its_run) {
  const int port = free_port();
  const StoreJob first{"job", 2, "scenario 1"}, second{"job", 2, "scenario 2"};
  const Address at{"127.0.0.1", port};
  auto server = std::make_unique<StoreServer>(first, port);
  auto ahead = std::async(std::launch::async, [&] {
    return error_of([&] {
      Store store{at, second, 1, kSoon};
      store.set("here", blob("in the second run"));
    });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds{150});
  {
    Store behind{at, first, 1, kSoon};
    EXPECT_FALSE(behind.find("here")) << "what belongs to the second run is in the first";
  }
  server.reset();  // with the other rank at its door
  server = std::make_unique<StoreServer>(second, port);
  EXPECT_EQ(ahead.get(), "no error");
  Store store{at, second, 0, kSoon};
  EXPECT_EQ(store.get("here"), blob("in the second run"));
}

TEST(store, a_run_that_process_0_does_not_come_to_is_named) {
  StoreServer server{{"job", 2, "scenario 1"}, 0};
  EXPECT_THAT(error_of([&] {
                Store{{"127.0.0.1", server.port()}, {"job", 2, "scenario 2"}, 1, Seconds{0.2}};
              }),
              HasSubstr("waited 0.2 s for process 0 to come to scenario 2: it is in scenario 1"));
}

TEST(store, strangers_are_turned_away) {
  StoreServer server{{"ours", 2}, 0};
  const Address at{"127.0.0.1", server.port()};
  EXPECT_THAT(error_of([&] {
                Store{at, {"theirs", 2}, 1, kSoon};
              }),
              HasSubstr("belongs to another job (\"ours\", this one is \"theirs\")"));
  EXPECT_THAT(error_of([&] { Store{at, {"ours", 4}, 1, kSoon}; }), HasSubstr("process 0 counts 2 ranks"));
  // Somebody who speaks another language harms nobody.
  Socket browser = connect_to(at, std::chrono::steady_clock::now() + std::chrono::seconds{5});
  const std::string request = "GET / HTTP/1.1\r\n\r\n";
  browser.write(std::as_bytes(std::span{request}),
                std::chrono::steady_clock::now() + std::chrono::seconds{5});
  Store store{at, {"ours", 2}, 0, kSoon};
  store.set("key", blob("value"));
  EXPECT_EQ(store.get("key"), blob("value"));
}

TEST(store, a_port_in_use_a_host_unknown_and_nobody_there_each_say_so) {
  const Socket taken = listen_on(0);
  EXPECT_THAT(error_of([&] { StoreServer{kJob, port_of(taken)}; }), HasSubstr("cannot listen on port"));
  EXPECT_THAT(error_of([&] {
                Store{{"no-such-host.invalid", 1}, kJob, 1, Seconds{0.1}};
              }),
              HasSubstr("host \"no-such-host.invalid\" of process 0 is not known here"));
  EXPECT_THAT(error_of([&] {
                Store{{"127.0.0.1", free_port()}, kJob, 1, Seconds{0.1}};
              }),
              HasSubstr("process 0 does not answer at 127.0.0.1"));
}

TEST(store, a_server_that_ends_still_answers_what_it_was_asked) {
  for (int round = 0; round < 20; ++round) {
    auto server = std::make_unique<StoreServer>(StoreJob{"end", 2}, 0);
    const Address at{"127.0.0.1", server->port()};
    auto other = std::async(std::launch::async, [&] {
      Store store{at, {"end", 2}, 1, kSoon};
      return error_of([&] { store.meet("end", 1, 2, {}); });
    });
    {
      Store store{at, {"end", 2}, 0, kSoon};
      store.meet("end", 0, 2, {});
    }
    server.reset();
    EXPECT_EQ(other.get(), "no error");
  }
}

}  // namespace
}  // namespace hexaplan::validator
