#pragma once
#include <cstddef>
#include <cstdint>

/// What the program needs of an MPI library, as plain functions. The module that implements them is the only
/// code that is compiled against mpi.h; it is loaded when ranks are processes, so that the program starts
/// where there is no MPI, and another MPI's module can take its place.
extern "C" {

enum HexaplanMpiType { kHexaplanMpiF64, kHexaplanMpiF32, kHexaplanMpiI32, kHexaplanMpiByte };
enum HexaplanMpiReduction { kHexaplanMpiSum, kHexaplanMpiMax };

/// Handles are made by one function and given back to another. Functions that start something return a
/// request, or nullptr when the library refuses; counts are elements and fit an int.
struct HexaplanMpi {
  int version;          // kHexaplanMpiVersion of the module
  const char* library;  // "Open MPI v4.1.4"

  int (*initialise)();  // 0: ready
  int (*finalise)();
  void (*abort)(int code);
  void* (*world)();
  int (*rank)(void* communicator);
  int (*size)(void* communicator);
  void* (*split)(void* communicator, int colour, int key);  // blocks
  void (*release)(void* communicator);

  void* (*all_reduce)(void* communicator, void* data, int count, int type, int reduction);
  void* (*reduce_scatter)(void* communicator, const void* in, void* out, int count, int type, int reduction);
  void* (*all_gather)(void* communicator, const void* in, void* out, int count, int type);
  /// Counts and displacements: one per rank; they and the buffers stay until the request is done.
  void* (*all_to_all_v)(void* communicator, const void* in, const int* send_counts, const int* send_at,
                        void* out, const int* receive_counts, const int* receive_at, int type);
  void* (*broadcast)(void* communicator, void* data, int count, int type, int root);
  void* (*barrier)(void* communicator);
  void* (*send)(void* communicator, const void* data, int count, int type, int to, int tag);
  void* (*receive)(void* communicator, void* data, int count, int type, int from, int tag);

  /// 1: done and given back, 0: not yet, negative: failed and given back. *bytes: of a message received.
  int (*test)(void* request, int* bytes);
  /// 1: a message under `tag` waits to be received; *from is its sender.
  int (*probe)(void* communicator, int tag, int* from);
};

enum { kHexaplanMpiVersion = 1 };

/// The module's only symbol.
const HexaplanMpi* hexaplan_mpi();
}
