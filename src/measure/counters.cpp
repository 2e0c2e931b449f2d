// Uses perf_event_open, with one event per counter, so that a missing one does not disable the others.
#include "measure/counters.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "core/input/failure.hpp"

namespace tilewright {
namespace {

struct Event {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};
constexpr Event events[] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"l1_read_misses", PERF_TYPE_HW_CACHE,
     PERF_COUNT_HW_CACHE_L1D | (PERF_COUNT_HW_CACHE_OP_READ << 8) | (PERF_COUNT_HW_CACHE_RESULT_MISS << 16)},
};

int open_event(const Event& event) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

}  // namespace

HardwareCounters::HardwareCounters() {
  int error = 0;
  for (const Event& event : events) {
    const int descriptor = open_event(event);
    if (descriptor >= 0)
      counters_.push_back({event.name, descriptor});
    else
      error = errno;
  }
  if (counters_.empty()) unavailable_ = fmt::format("perf_event_open: {}", system_error_text(error));
}

HardwareCounters::~HardwareCounters() {
  for (const Counter& counter : counters_) close(counter.descriptor);
}

std::vector<CounterReading> HardwareCounters::measure(const std::function<void()>& work) const {
  for (const Counter& counter : counters_) {
    ioctl(counter.descriptor, PERF_EVENT_IOC_RESET, 0);
    ioctl(counter.descriptor, PERF_EVENT_IOC_ENABLE, 0);
  }
  work();
  std::vector<CounterReading> readings;
  for (const Counter& counter : counters_) {
    ioctl(counter.descriptor, PERF_EVENT_IOC_DISABLE, 0);
    std::uint64_t value = 0;
    if (read(counter.descriptor, &value, sizeof value) == ssize_t(sizeof value))
      readings.push_back({counter.name, double(value)});
  }
  return readings;
}

}  // namespace tilewright
