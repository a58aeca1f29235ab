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

}  // namespace hexaplan::validator
