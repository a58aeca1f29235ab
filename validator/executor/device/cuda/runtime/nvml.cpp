#include "validator/executor/device/cuda/runtime/nvml.h"

#include <dlfcn.h>

#include <array>

namespace hexaplan::validator::cuda {

/// The few functions that are used, with their prototypes (NVML API reference guide; nvml.h is not part of
/// every toolkit). All return 0 for success.
struct Nvml::Library {
  struct Memory {
    unsigned long long total, free, used;
  };
  int (*start)() = nullptr;
  int (*gpu_at)(const char* pci_address, void** gpu) = nullptr;
  int (*clock)(void* gpu, int which, unsigned* megahertz) = nullptr;
  int (*power)(void* gpu, unsigned* milliwatts) = nullptr;
  int (*power_limit)(void* gpu, unsigned* milliwatts) = nullptr;
  int (*temperature)(void* gpu, int sensor, unsigned* celsius) = nullptr;
  int (*throttling)(void* gpu, unsigned long long* reasons) = nullptr;
  int (*memory)(void* gpu, Memory* memory) = nullptr;
  int (*driver)(char* version, unsigned length) = nullptr;

  static const Library* load() {
    static const Library library;
    return library.works_ ? &library : nullptr;
  }

 private:
  Library() {
    void* const file = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) return;
    works_ = true;
    const auto find = [&]<class Function>(Function& function, const char* name) {
      function = reinterpret_cast<Function>(dlsym(file, name));  // NOLINT(*-reinterpret-cast): as dlsym goes
      works_ = works_ && function != nullptr;
    };
    find(start, "nvmlInit_v2");
    find(gpu_at, "nvmlDeviceGetHandleByPciBusId_v2");
    find(clock, "nvmlDeviceGetClockInfo");
    find(power, "nvmlDeviceGetPowerUsage");
    find(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    find(temperature, "nvmlDeviceGetTemperature");
    find(throttling, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(memory, "nvmlDeviceGetMemoryInfo");
    find(driver, "nvmlSystemGetDriverVersion");
    works_ = works_ && start() == 0;
  }
  bool works_ = false;
};

namespace {

// Of nvmlClockType_t, nvmlTemperatureSensors_t and nvmlClocksThrottleReasons.
constexpr int kMultiprocessorClock = 1, kMemoryClock = 2, kOnDie = 0;
constexpr unsigned long long kPowerCap = 0x4, kHardwareSlowdown = 0x8, kThermal = 0x20 | 0x40;

}  // namespace

Nvml::Nvml(const std::string& pci_address) : library_{Library::load()} {
  if (library_ != nullptr && library_->gpu_at(pci_address.c_str(), &gpu_) != 0) library_ = nullptr;
}

std::vector<DeviceFact> Nvml::facts() const {
  std::vector<DeviceFact> facts;
  if (library_ == nullptr) return facts;
  constexpr unsigned kLongest = 96;
  std::array<char, kLongest> version{};
  if (library_->driver(version.data(), kLongest) == 0) facts.push_back({"driver", 0, {}, version.data()});
  unsigned value = 0;
  const auto add = [&](const char* name, int status, double divisor, const char* unit) {
    if (status == 0) facts.push_back({name, value / divisor, unit, {}});
  };
  add("SM clock", library_->clock(gpu_, kMultiprocessorClock, &value), 1, "MHz");
  add("memory clock", library_->clock(gpu_, kMemoryClock, &value), 1, "MHz");
  add("power", library_->power(gpu_, &value), 1000, "W");
  add("power limit", library_->power_limit(gpu_, &value), 1000, "W");
  add("temperature", library_->temperature(gpu_, kOnDie, &value), 1, "°C");
  unsigned long long reasons = 0;
  if (library_->throttling(gpu_, &reasons) == 0) {
    std::string text;
    if ((reasons & kPowerCap) != 0) text += " power";
    if ((reasons & kThermal) != 0) text += " temperature";
    if ((reasons & kHardwareSlowdown) != 0) text += " hardware";
    facts.push_back({"clocks held back by", 0, {}, text.empty() ? "nothing" : text.substr(1)});
  }
  return facts;
}

std::optional<DeviceState> Nvml::state() const {
  unsigned clock = 0, milliwatts = 0, celsius = 0;
  if (library_ == nullptr || library_->clock(gpu_, kMultiprocessorClock, &clock) != 0) return std::nullopt;
  // 0 where the GPU does not say: parts in MIG mode know no power of their own.
  if (library_->power(gpu_, &milliwatts) != 0) milliwatts = 0;
  if (library_->temperature(gpu_, kOnDie, &celsius) != 0) celsius = 0;
  return DeviceState{.clock = static_cast<double>(clock),
                     .power = milliwatts / 1000.0,
                     .temperature = static_cast<double>(celsius)};
}

std::optional<std::int64_t> Nvml::used_bytes() const {
  Library::Memory memory{};
  if (library_ == nullptr || library_->memory(gpu_, &memory) != 0) return std::nullopt;
  return static_cast<std::int64_t>(memory.used);
}

}  // namespace hexaplan::validator::cuda
