#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/dtype.h"
#include "validator/executor/communicator/bootstrap/launcher.h"
#include "validator/executor/communicator/run_ranks.h"
#include "validator/executor/device/view.h"

namespace hexaplan::validator {

class Device;

/// What a backend of the executor provides. A library makes a device faster.
enum class BackendRole : std::uint8_t { Device, Ranks, Library };

/// One way of computing or of having ranks, and whether this machine can.
struct BackendState {
  std::string name;  // as --device and --ranks take it
  BackendRole role = BackendRole::Ranks;
  std::string what;  // "ranks are processes on one or several hosts"
  bool available = false;
  std::string detail;  // what was found: "Open MPI v4.1.4", or why it is missing
  std::string remedy;  // what to install or do; empty when available
  int gpus = 0;        // of this machine that its ranks can be; 0 where ranks are something else
};

/// Every backend that Hexaplan knows, available or not.
[[nodiscard]] std::vector<BackendState> list_backends();
/// The state of one; nothing where no row has the name. Looks for no other.
[[nodiscard]] std::optional<BackendState> find_backend(std::string_view name);
/// Names of a role in the table's order. Looks for nothing.
[[nodiscard]] std::vector<std::string> backend_names(BackendRole role);

/// What some kinds of ranks want to know; the others do not look at it.
struct RankRequest {
  int solo_rank = 0;      // the real one
  int gpus = 0;           // of this process; 0: NcclRanksOptions::gpus
  BootstrapFlags launch;  // where there is no launcher that says it
};
/// A backend for ranks. nullptr when it is not available or not known: list_backends says why. Throws
/// BootstrapError when what a launcher says is not enough.
[[nodiscard]] std::unique_ptr<RankBackend> make_rank_backend(std::string_view name,
                                                             const RankRequest& request = {});

/// What a device computes in, the default first; empty when it is not known.
[[nodiscard]] std::vector<Element> elements_of_device(std::string_view name);
/// What stores what a plan keeps in `activations`, where the device has it.
[[nodiscard]] Element planned_element(costmodel::DType activations);
/// What a device computes in unless told otherwise, where a plan keeps activations in `activations`: that
/// type where the device has it, else its first. Nothing when the device is not known.
[[nodiscard]] std::optional<Element> default_element(std::string_view device, costmodel::DType activations);
/// "bf16", "f16", "f32", "f64", "i32".
[[nodiscard]] std::string_view name_of(Element element);
[[nodiscard]] std::optional<Element> element_named(std::string_view name);

/// What some devices want to know; the others do not look at it.
struct DeviceRequest {
  int gpu = 0;      // of this machine, taken modulo their number
  int threads = 1;  // of the CPU, on which an operation runs
};
/// A device that computes in `element`, one of elements_of_device. nullptr when it is not available or not
/// known: find_backend says why. Throws GpuError when it is there and does not start.
[[nodiscard]] std::unique_ptr<Device> make_device(std::string_view name, Element element,
                                                  const DeviceRequest& request = {});

}  // namespace hexaplan::validator
