#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "validator/executor/checkpoint/durable_file.h"
#include "validator/executor/checkpoint/mapped_file.h"

namespace hexaplan::validator {

/// A checkpoint that cannot be written, or read, or used here; one line for a person.
struct CheckpointError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// `write`, whose FileError becomes a CheckpointError.
template <class Write>
void write_of_checkpoint(const Write& write) {
  try {
    write();
  } catch (const FileError& error) {
    throw CheckpointError{error.what()};
  }
}

/// One state of one parameter of the *unsharded* model.
struct StateKey {
  int unit = 0;      // layer in model order; negative: embedding, head
  std::string name;  // of the parameter
  int state = 0;     // master, first moment, …
  friend auto operator<=>(const StateKey&, const StateKey&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Consecutive elements of the unsharded, row-major tensor.
struct ElementRun {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// What all files of a checkpoint say of it.
struct CheckpointHeader {
  std::int64_t step = 0;  // optimizer steps done
  int rank = 0, ranks = 1;
  int element_bytes = 8;  // 8: float64, 4: float32
  std::string model;      // sizes that must agree: "layers 2, hidden 64, …"
  friend bool operator==(const CheckpointHeader&, const CheckpointHeader&) = default;
};

// A checkpoint is a folder with one file per rank that saved: rank-00000.hxp, …. A file is
//   "HXPCKPT\n", format version, header, one record per state and parameter (key, elements of the whole
//   tensor, runs), the runs' elements one behind the other, and a checksum (FNV-1a, 64 bits) of all before
//   it.
// Numbers are little-endian, texts a length and bytes. Elements are found by their index in the unsharded
// tensor, so that any layout reads what any other wrote.

/// Writes one rank's file, which never lies in memory as a whole: what it will hold is listed first, then
/// come the elements, in pieces. Members throw CheckpointError.
class CheckpointWriter {
 public:
  /// The file of this rank in `folder`.
  CheckpointWriter(CheckpointHeader header, const std::string& folder);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// These elements of a tensor of `tensor_elements` will come. Before the first add().
  void list(const StateKey& key, std::int64_t tensor_elements, const std::vector<ElementRun>& runs);
  /// The next of the listed runs' elements, one behind the other.
  void add(std::span<const double> values);
  /// Everything listed has been added. On disk (fsync) when it returns.
  void commit();

 private:
  class Output;
  void write_table();

  CheckpointHeader header_;
  std::int64_t records_ = 0, due_ = 0;  // listed tensors; elements of theirs that have not come
  std::string table_;
  bool table_written_ = false;
  std::unique_ptr<Output> output_;
};

/// Reads the files of all ranks of one checkpoint, of which what is read lies in memory.
class CheckpointReader {
 public:
  /// Reads headers, records and checksums. Throws CheckpointError: a file is missing, cut off, damaged, of a
  /// newer format, or belongs to another step.
  explicit CheckpointReader(const std::string& folder);

  [[nodiscard]] const CheckpointHeader& header() const { return header_; }
  [[nodiscard]] bool holds(const StateKey& key) const { return tensors_.count(key) > 0; }
  /// Elements [run.begin, run.begin + run.count) of the unsharded tensor. Throws CheckpointError when the
  /// checkpoint does not hold all of them or the tensor has another size.
  void read(const StateKey& key, std::int64_t tensor_elements, const ElementRun& run,
            std::span<double> out) const;
  /// What has been read may leave the memory.
  void let_go() const;

 private:
  struct StoredRun {
    std::int64_t begin = 0, count = 0;
    std::size_t file = 0;
    std::int64_t at = 0;  // offset of its first element in the file
  };
  struct StoredTensor {
    std::int64_t elements = 0;
    std::vector<StoredRun> runs;  // by begin
  };
  void read_file(const std::string& path);
  void copy_elements(const StoredRun& run, std::int64_t first, std::span<double> out) const;

  std::string folder_;
  CheckpointHeader header_;
  std::vector<std::unique_ptr<MappedFile>> files_;
  std::map<StateKey, StoredTensor> tensors_;
};

/// Name of the folder of `step` inside a folder of checkpoints: "step-00000012".
[[nodiscard]] std::string step_folder(std::int64_t step);
/// A new, empty folder beside where the checkpoint of `step` will lie in `root`, to write the ranks' files
/// into. Leftovers of a run that died while it wrote are removed.
[[nodiscard]] std::string begin_checkpoint(const std::string& root, std::int64_t step);
/// Where begin_checkpoint has put it.
[[nodiscard]] std::string unfinished_checkpoint(const std::string& root, std::int64_t step);
/// Makes the folder the checkpoint of `step`, and `root`/latest name it: whole or not at all.
void commit_checkpoint(const std::string& root, std::int64_t step);
/// The folder that `path` means: itself when it holds a checkpoint's files, else what its `latest` names.
[[nodiscard]] std::string find_checkpoint(const std::string& path);

}  // namespace hexaplan::validator
