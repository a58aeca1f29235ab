#include <mpi.h>

#include <memory>
#include <string>

#include "validator/executor/communicator/mpi/mpi_functions.h"

namespace {

MPI_Comm comm_of(void* handle) {
  return *static_cast<MPI_Comm*>(handle);
}

MPI_Datatype type_of(int type) {
  switch (type) {
    case kHexaplanMpiF64:
      return MPI_DOUBLE;
    case kHexaplanMpiF32:
      return MPI_FLOAT;
    case kHexaplanMpiI32:
      return MPI_INT32_T;
    default:
      return MPI_BYTE;
  }
}

MPI_Op op_of(int reduction) {
  return reduction == kHexaplanMpiSum ? MPI_SUM : MPI_MAX;
}

/// Starts something that has a request.
template <class Start>
void* start(const Start& begin) {
  auto request = std::make_unique<MPI_Request>(MPI_REQUEST_NULL);
  return begin(request.get()) == MPI_SUCCESS ? request.release() : nullptr;
}

int initialise() {
  int provided = 0;
  const int outcome = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  if (outcome == MPI_SUCCESS) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return outcome == MPI_SUCCESS ? 0 : 1;
}
int finalise() {
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
void abort_job(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
}
void* world() {
  return new MPI_Comm{MPI_COMM_WORLD};
}
int rank(void* communicator) {
  int value = -1;
  MPI_Comm_rank(comm_of(communicator), &value);
  return value;
}
int size(void* communicator) {
  int value = 0;
  MPI_Comm_size(comm_of(communicator), &value);
  return value;
}
void* split(void* communicator, int colour, int key) {
  auto part = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  if (MPI_Comm_split(comm_of(communicator), colour, key, part.get()) != MPI_SUCCESS) return nullptr;
  MPI_Comm_set_errhandler(*part, MPI_ERRORS_RETURN);
  return part.release();
}
void release(void* communicator) {
  const std::unique_ptr<MPI_Comm> comm{static_cast<MPI_Comm*>(communicator)};
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (finalised == 0 && *comm != MPI_COMM_WORLD) MPI_Comm_free(comm.get());
}

void* all_reduce(void* communicator, void* data, int count, int type, int reduction) {
  return start([&](MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, data, count, type_of(type), op_of(reduction), comm_of(communicator),
                          request);
  });
}
void* reduce_scatter(void* communicator, const void* in, void* out, int count, int type, int reduction) {
  return start([&](MPI_Request* request) {
    return MPI_Ireduce_scatter_block(in, out, count, type_of(type), op_of(reduction), comm_of(communicator),
                                     request);
  });
}
void* all_gather(void* communicator, const void* in, void* out, int count, int type) {
  return start([&](MPI_Request* request) {
    return MPI_Iallgather(in == nullptr ? MPI_IN_PLACE : in, count, type_of(type), out, count, type_of(type),
                          comm_of(communicator), request);
  });
}
void* all_to_all_v(void* communicator, const void* in, const int* send_counts, const int* send_at, void* out,
                   const int* receive_counts, const int* receive_at, int type) {
  return start([&](MPI_Request* request) {
    return MPI_Ialltoallv(in, send_counts, send_at, type_of(type), out, receive_counts, receive_at,
                          type_of(type), comm_of(communicator), request);
  });
}
void* broadcast(void* communicator, void* data, int count, int type, int root) {
  return start([&](MPI_Request* request) {
    return MPI_Ibcast(data, count, type_of(type), root, comm_of(communicator), request);
  });
}
void* barrier(void* communicator) {
  return start([&](MPI_Request* request) { return MPI_Ibarrier(comm_of(communicator), request); });
}
void* send(void* communicator, const void* data, int count, int type, int to, int tag) {
  return start([&](MPI_Request* request) {
    return MPI_Isend(data, count, type_of(type), to, tag, comm_of(communicator), request);
  });
}
void* receive(void* communicator, void* data, int count, int type, int from, int tag) {
  return start([&](MPI_Request* request) {
    return MPI_Irecv(data, count, type_of(type), from, tag, comm_of(communicator), request);
  });
}

int test(void* handle, int* bytes) {
  auto* request = static_cast<MPI_Request*>(handle);
  int done = 0;
  MPI_Status status;
  const int outcome = MPI_Test(request, &done, &status);
  if (outcome == MPI_SUCCESS && done == 0) return 0;
  const std::unique_ptr<MPI_Request> owned{request};
  if (outcome != MPI_SUCCESS) return -1;
  if (bytes != nullptr) MPI_Get_count(&status, MPI_BYTE, bytes);
  return 1;
}
int probe(void* communicator, int tag, int* from) {
  int there = 0;
  MPI_Status status;
  if (MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_of(communicator), &there, &status) != MPI_SUCCESS || there == 0)
    return 0;
  *from = status.MPI_SOURCE;
  return 1;
}

/// "Open MPI v4.1.4" of "Open MPI v4.1.4, package: Debian …".
const char* library_name() {
  static const std::string name = [] {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    text.resize(static_cast<std::size_t>(length));
    return text.substr(0, text.find_first_of(",\n"));
  }();
  return name.c_str();
}

}  // namespace

const HexaplanMpi* hexaplan_mpi() {
  static const HexaplanMpi functions{.version = kHexaplanMpiVersion,
                                     .library = library_name(),
                                     .initialise = initialise,
                                     .finalise = finalise,
                                     .abort = abort_job,
                                     .world = world,
                                     .rank = rank,
                                     .size = size,
                                     .split = split,
                                     .release = release,
                                     .all_reduce = all_reduce,
                                     .reduce_scatter = reduce_scatter,
                                     .all_gather = all_gather,
                                     .all_to_all_v = all_to_all_v,
                                     .broadcast = broadcast,
                                     .barrier = barrier,
                                     .send = send,
                                     .receive = receive,
                                     .test = test,
                                     .probe = probe};
  return &functions;
}
