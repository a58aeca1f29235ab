#pragma once
#include <cstdint>

/// What the program needs of NCCL and of CUDA's streams beside it, as plain functions. The module that
/// implements them is the only code that is compiled against nccl.h; it is loaded when ranks are GPUs, so
/// that the program starts where there is no NCCL.
extern "C" {

enum HexaplanNcclType {
  kHexaplanNcclF64,
  kHexaplanNcclF32,
  kHexaplanNcclBf16,
  kHexaplanNcclI32,
  kHexaplanNcclF16,
  kHexaplanNcclU8
};
enum HexaplanNcclReduction { kHexaplanNcclSum, kHexaplanNcclMax };
/// How far NCCL has come with what it was given last.
enum HexaplanNcclState { kHexaplanNcclFailed = -1, kHexaplanNcclUnderWay = 0, kHexaplanNcclReady = 1 };
enum { kHexaplanNcclIdBytes = 128 };

/// Handles are made by one function and given back to another; nullptr: it could not be made. Functions that
/// return int return a HexaplanNcclState. A communicator is used by one thread at a time. Streams are
/// cudaStream_t. Counts are elements.
struct HexaplanNccl {
  int version;          // kHexaplanNcclVersion of the module
  const char* library;  // "NCCL 2.28.9"

  int (*gpus)();                 // that CUDA finds; 0 without a driver
  int (*adopt)(void* stream);    // the calling thread works on this stream's GPU
  std::int64_t (*free_bytes)();  // of that GPU
  const char* (*last_error)();   // what NCCL says of the last failure in this process

  int (*make_id)(char* id);
  /// Neither waits for the other ranks: state() says when all have come. Then a communicator of join() and
  /// split() takes its work at once, in the caller's thread, which waits where connections have to be made;
  /// one of join_unblocked() never waits, and state() says when it has taken what it was given.
  void* (*join)(const char* id, int rank, int size);
  void* (*join_unblocked)(const char* id, int rank, int size);
  /// colour < 0: this rank gets no communicator, but takes part: ready when the parent is.
  void* (*split)(void* parent, int colour, int key);
  int (*state)(void* communicator);
  void (*release)(void* communicator);
  /// Ends what is under way; only release may follow.
  void (*abort)(void* communicator);

  int (*all_reduce)(void* communicator, void* stream, void* data, std::int64_t count, int type,
                    int reduction);
  int (*reduce_scatter)(void* communicator, void* stream, const void* in, void* out, std::int64_t count_out,
                        int type, int reduction);
  int (*all_gather)(void* communicator, void* stream, const void* in, void* out, std::int64_t count_in,
                    int type);
  int (*broadcast)(void* communicator, void* stream, void* data, std::int64_t count, int type, int root);
  /// Between begin and end: sends and receives of one communicator, which then run as one; or aborts.
  int (*group_begin)();
  int (*group_end)(void* communicator);
  int (*send)(void* communicator, void* stream, const void* data, std::int64_t count, int type, int to);
  int (*receive)(void* communicator, void* stream, void* data, std::int64_t count, int type, int from);

  void* (*make_stream)();
  void (*release_stream)(void* stream);
  /// A point behind everything that the stream was given; whether the GPU has passed it; what comes later on
  /// `stream` waits for it.
  void* (*mark)(void* stream);
  int (*passed)(void* mark);
  void (*wait)(void* stream, void* mark);
  void (*release_mark)(void* mark);
  /// A mark that knows its time, and the seconds from one to the other; waits for the later one.
  void* (*timed_mark)(void* stream);
  double (*between)(void* begin, void* end);
};

enum { kHexaplanNcclVersion = 3 };

/// The module's only symbol.
const HexaplanNccl* hexaplan_nccl();
}
