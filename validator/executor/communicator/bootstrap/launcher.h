#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace hexaplan::validator {

/// Host and port. Text: "node01:29501", "[fe80::1]:29501".
struct Address {
  std::string host;
  int port = 0;
  /// Throws BootstrapError.
  [[nodiscard]] static Address parse(std::string_view text);
  [[nodiscard]] std::string text() const;
};

/// This process among those that a launcher started, and where they meet.
struct JobPlace {
  std::string launcher;  // "torchrun", "Slurm", …
  int process = 0, processes = 1;
  int local_process = 0;  // among those on this host
  Address meeting;        // where process 0 listens
  std::string job;        // tells jobs apart that might meet by mistake
};

/// What was said on the command line; it goes before what launchers say.
struct BootstrapFlags {
  std::optional<int> rank, world;
  std::string master;  // "host:port"; empty: not given
};

/// Value of an environment variable.
using Environment = std::function<std::optional<std::string>(const char* name)>;
/// The process's own.
[[nodiscard]] Environment process_environment();

/// nullopt: nobody says that there are other processes. Throws BootstrapError when what is said is not
/// enough or does not fit together.
[[nodiscard]] std::optional<JobPlace> find_job_place(const BootstrapFlags& flags,
                                                     const Environment& environment);

/// Processes of the job on this host.
struct LocalProcesses {
  int first = 0;  // where the launcher fills one host after the other, as all do unless told otherwise
  int count = 1;
};
/// nullopt: no launcher says it.
[[nodiscard]] std::optional<LocalProcesses> find_local_processes(const Environment& environment);

/// First host of a Slurm list: "gpu[07-12,15],login" is gpu07.
[[nodiscard]] std::string first_host(std::string_view slurm_list);

}  // namespace hexaplan::validator
