#pragma once
#include <cudnn.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "validator/executor/device/cuda/gpu_error.h"

namespace hexaplan::validator::cudnn {

[[noreturn]] inline void fail(cudnnStatus_t status, const char* call, const char* file, int line) {
  constexpr std::size_t kLongest = 1024;
  std::string message(kLongest, '\0');
  cudnnGetLastErrorString(message.data(), message.size());
  message.resize(message.find('\0'));
  throw GpuError{{.library = "cuDNN",
                  .call = call,
                  .code = cudnnGetErrorString(status),
                  .message = std::move(message),
                  .file = file,
                  .line = line}};
}

/// A macro, so that an error carries the call's text and place.
#define HEXAPLAN_CUDNN(call)                                                 \
  do {                                                                       \
    const cudnnStatus_t status = (call);                                     \
    if (status != CUDNN_STATUS_SUCCESS)                                      \
      ::hexaplan::validator::cudnn::fail(status, #call, __FILE__, __LINE__); \
  } while (false)

/// How cuDNN names the types of attributes.
template <class T>
constexpr cudnnBackendAttributeType_t kAttribute = CUDNN_TYPE_BACKEND_DESCRIPTOR;
template <>
inline constexpr cudnnBackendAttributeType_t kAttribute<std::int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr cudnnBackendAttributeType_t kAttribute<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr cudnnBackendAttributeType_t kAttribute<char> = CUDNN_TYPE_CHAR;
template <>
inline constexpr cudnnBackendAttributeType_t kAttribute<void*> = CUDNN_TYPE_VOID_PTR;
template <>
inline constexpr cudnnBackendAttributeType_t kAttribute<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr cudnnBackendAttributeType_t kAttribute<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr cudnnBackendAttributeType_t kAttribute<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr cudnnBackendAttributeType_t kAttribute<cudnnReduceTensorOp_t> =
    CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
template <>
inline constexpr cudnnBackendAttributeType_t kAttribute<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;

/// A backend descriptor with one owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    HEXAPLAN_CUDNN(cudnnBackendCreateDescriptor(type, &raw_));
  }
  Descriptor(Descriptor&& other) noexcept : raw_{std::exchange(other.raw_, nullptr)} {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (raw_ != nullptr) cudnnBackendDestroyDescriptor(raw_);
  }

  [[nodiscard]] cudnnBackendDescriptor_t raw() const { return raw_; }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const T* values, std::int64_t count) {
    HEXAPLAN_CUDNN(cudnnBackendSetAttribute(raw_, name, kAttribute<T>, count, values));
    return *this;
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const T& value) {
    if constexpr (std::is_same_v<T, Descriptor>) {
      const cudnnBackendDescriptor_t other = value.raw();
      HEXAPLAN_CUDNN(cudnnBackendSetAttribute(raw_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other));
      return *this;
    } else {
      return set(name, &value, 1);
    }
  }
  /// Handles of descriptors are void pointers, and attributes of another type.
  Descriptor& set_all(cudnnBackendAttributeName_t name, const std::vector<cudnnBackendDescriptor_t>& others) {
    HEXAPLAN_CUDNN(cudnnBackendSetAttribute(raw_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                            static_cast<std::int64_t>(others.size()), others.data()));
    return *this;
  }
  Descriptor& finalise() {
    HEXAPLAN_CUDNN(cudnnBackendFinalize(raw_));
    return *this;
  }

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace hexaplan::validator::cudnn
