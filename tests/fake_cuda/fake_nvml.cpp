// A libnvidia-ml.so.1 for machines without a GPU: a counter of energy that moves a few times a second at a
// constant power, and the readings that the sweep asks for. The environment makes it coarse, silent, or
// another user's card. It measures nothing, and its numbers are not results.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace {

double setting(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atof(text);
}
double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Rates {
  unsigned gpu, memory;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
constexpr int not_supported = 3, insufficient_size = 7;

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetHandleByUUID(const char*, void** device) {
  static char card;
  *device = &card;
  return 0;
}
int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::strncpy(version, "0.fake", length);
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* mj) {
  const double rate = setting("FAKE_NVML_MOVES_PER_SECOND", 10);
  if (rate <= 0) return not_supported;
  *mj = static_cast<unsigned long long>(1e3 * setting("FAKE_NVML_WATTS", 500) * std::floor(now_s() * rate) /
                                        rate);
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* mw) {
  *mw = static_cast<unsigned>(1e3 * setting("FAKE_NVML_WATTS", 500));
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int kind, unsigned* mhz) {
  *mhz = kind == 1 ? 1500 : 2600;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* degrees) {
  *degrees = 50;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, Rates* rates) {
  *rates = {static_cast<unsigned>(setting("FAKE_NVML_BUSY", 0)), 0};
  return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* bits) {
  *bits = 4;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* mw) {
  *mw = 700000;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* list) {
  const auto all = 1 + static_cast<unsigned>(setting("FAKE_NVML_OTHERS", 0));
  if (*count < all) return insufficient_size;
  *count = all;
  for (unsigned i = 0; i < all; ++i) list[i] = {i + 2, 0, 0, 0};
  return 0;
}

}  // extern "C"
