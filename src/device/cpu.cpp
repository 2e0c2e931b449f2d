// Queries the processor (CPUID, XCR0) and the operating system (sysfs, affinity).
#include "device/cpu.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "device/arm_core.hpp"
#endif

#include "core/host/fork_gate.hpp"

namespace tilewright {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Parses "32K", "2048K", "105M" as sysfs writes cache sizes.
std::int64_t size_from_sysfs(const std::string& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return 0;
  std::size_t end = 0;
  const std::int64_t value = std::stoll(text, &end);
  if (end < text.size() && text[end] == 'K') return value << 10;
  if (end < text.size() && text[end] == 'M') return value << 20;
  return value;
}

// Counts the members of a list such as "0-3,8".
int count_list(const std::string& text) {
  int count = 0;
  std::size_t at = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    std::size_t used = 0;
    const int first = std::stoi(text.substr(at), &used);
    at += used;
    int last = first;
    if (at < text.size() && text[at] == '-') {
      last = std::stoi(text.substr(at + 1), &used);
      at += 1 + used;
    }
    count += std::max(0, last - first + 1);
    if (at < text.size() && text[at] == ',') ++at;
  }
  return count;
}

struct Affinity {
  int first = 0;  // one processor of the set; its caches stand for all
  int count = 1;
};

Affinity affinity() {
  Affinity result;
  // The kernel's mask may be longer than the fixed cpu_set_t, so the size grows until the call accepts it.
  for (int bits = 1024; bits <= (1 << 20); bits *= 2) {
    cpu_set_t* set = CPU_ALLOC(bits);
    const std::size_t bytes = CPU_ALLOC_SIZE(bits);
    if (set == nullptr) break;
    const bool answered = sched_getaffinity(0, bytes, set) == 0;
    if (answered) {
      result.count = std::max(1, CPU_COUNT_S(bytes, set));
      for (int i = 0; i < bits; ++i)
        if (CPU_ISSET_S(i, bytes, set)) {
          result.first = i;
          break;
        }
    }
    CPU_FREE(set);
    if (answered) break;
  }
  return result;
}

void read_caches(int processor, CpuInfo& info) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cache/index";
  for (int index = 0; index < 16; ++index) {
    const std::string cache = folder + std::to_string(index);
    const std::string level = first_line(cache + "/level");
    if (level.empty()) break;
    if (first_line(cache + "/type") == "Instruction") continue;
    const std::int64_t bytes = size_from_sysfs(first_line(cache + "/size"));
    if (level == "1") info.l1d_bytes = bytes;
    if (level == "2") info.l2_bytes = bytes;
    if (level == "3") info.l3_bytes = bytes;
  }
}

#if defined(__x86_64__)

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

// Returns the register states that the operating system saves (XCR0); _xgetbv would need -mxsave.
std::uint64_t enabled_states() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t(high) << 32) | low;
}

void read_instruction_sets(CpuInfo& info) {
  constexpr unsigned osxsave = 1u << 27, fma = 1u << 12, avx = 1u << 28;  // leaf 1, ecx
  constexpr unsigned avx2 = 1u << 5;                                      // leaf 7, ebx
  constexpr unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // F, DQ, BW, VL
  constexpr std::uint64_t ymm_state = 0x06, zmm_state = 0xe6;             // XCR0: SSE+AVX, + opmask and ZMM
  const Registers features = cpuid(1);
  if ((features.ecx & osxsave) == 0) return;
  const std::uint64_t states = enabled_states();
  const Registers extended = cpuid(7);
  info.avx2_fma = (states & ymm_state) == ymm_state && (features.ecx & fma) != 0 &&
                  (features.ecx & avx) != 0 && (extended.ebx & avx2) != 0;
  info.avx512 = info.avx2_fma && (states & zmm_state) == zmm_state && (extended.ebx & avx512) == avx512;
}

std::uint32_t signature() { return cpuid(1).eax; }

std::string brand(int) {
  char text[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002u + i);
    std::memcpy(text + 16 * i, &r, 16);
  }
  const std::string name = text;
  const std::size_t first = name.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return name.substr(first, name.find_last_not_of(' ') - first + 1);
}

#else

void read_instruction_sets(CpuInfo&) {}
std::uint32_t signature() { return 0; }

#if defined(__aarch64__)
// Returns the register MIDR_EL1 of any core: Linux answers programs that read it.
std::uint64_t midr_register() {
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) == 0) return 0;
  std::uint64_t midr = 0;
  __asm__("mrs %0, MIDR_EL1" : "=r"(midr));
  return midr;
}

std::string brand(int processor) {
  const std::string text =
      first_line("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/regs/identification/midr_el1");
  const std::uint64_t midr = text.empty() ? midr_register() : std::strtoull(text.c_str(), nullptr, 16);
  return arm_core_name(midr, first_line("/sys/devices/soc0/soc_id"));
}
#else
std::string brand(int) { return {}; }
#endif

#endif

CpuInfo read_cpu() {
  CpuInfo info;
  read_instruction_sets(info);
  const Affinity allowed = affinity();
  info.model = brand(allowed.first);
  if (info.model.empty()) info.model = "unknown CPU";
  info.device = device_name(info.model, signature());
  info.cores = allowed.count;
  read_caches(allowed.first, info);
  info.numa_nodes = std::max(1, count_list(first_line("/sys/devices/system/node/online")));
  return info;
}

}  // namespace

std::string device_name(const std::string& brand, std::uint32_t signature) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (signature == 0 || std::any_of(brand.begin(), brand.end(), is_digit)) return brand;
  const auto bits = [&](int first, int count) { return signature >> first & ((1u << count) - 1); };
  const unsigned base = bits(8, 4);
  const unsigned family = base == 15 ? base + bits(20, 8) : base;
  const unsigned model = base == 6 || base == 15 ? bits(16, 4) << 4 | bits(4, 4) : bits(4, 4);
  return brand + " (family " + std::to_string(family) + ", model " + std::to_string(model) + ", stepping " +
         std::to_string(bits(0, 4)) + ")";
}

const CpuInfo& cpu_info() {
  static constinit Once<const CpuInfo> once;
  return once.get(read_cpu);
}

}  // namespace tilewright
