#pragma once
#include <string>

namespace hexaplan::validator {

/// A shared library that is loaded when it is needed, so that the program starts on machines that lack what
/// it depends on.
struct Module {
  void* entry = nullptr;  // address of the symbol asked for; nullptr: see problem
  std::string path;
  std::string problem;  // "libmpi.so.40: cannot open shared object file", "no hexaplan_mpi.so in …"
};

/// Loads `name`.so from lib/hexaplan beside the program or beside the folder it lies in (build tree: build/…,
/// installed: bin/ and lib/hexaplan/), and looks up `symbol`. Stays loaded. Its symbols are visible to
/// libraries loaded after it: Open MPI's own plug-ins need that.
[[nodiscard]] Module load_module(const std::string& name, const char* symbol);

/// What CUDA reads from the environment when it begins, unless the user has set it: as many hardware queues
/// as a rank has streams (CUDA_DEVICE_MAX_CONNECTIONS; CUDA C++ Programming Guide, "Environment Variables": 8
/// by default, at most 32). With fewer, what waits on one stream holds up another that shares its queue, and
/// a receive that waits can hold up the send that it waits for. Before a module of GPUs is loaded.
void prepare_cuda_environment();

/// A library's plain functions, as a module offers them.
template <class Functions>
struct FunctionTable {
  const Functions* functions = nullptr;  // nullptr: see problem
  std::string problem;
};
/// What the function `name` of the module `name` returns, when it is of `version`.
template <class Functions>
[[nodiscard]] FunctionTable<Functions> load_functions(const std::string& name, int version) {
  const Module module = load_module(name, name.c_str());
  if (module.entry == nullptr) return {nullptr, module.problem};
  using Entry = const Functions* (*)();
  const Functions* functions =
      reinterpret_cast<Entry>(module.entry)();  // NOLINT(*-reinterpret-cast): dlsym's way
  if (functions->version != version)
    return {nullptr, module.path + " belongs to another version of hexaplan"};
  return {functions, {}};
}

}  // namespace hexaplan::validator
