// The table of cores, with implementers and part numbers as in Linux (arch/arm64/include/asm/cputype.h).
#include "device/arm_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tilewright {
namespace {

struct Core {
  unsigned implementer, part;
  const char* name;
};
constexpr Core cores[] = {
    {0x41, 0xd03, "Arm Cortex-A53"},
    {0x41, 0xd05, "Arm Cortex-A55"},
    {0x41, 0xd07, "Arm Cortex-A57"},
    {0x41, 0xd08, "Arm Cortex-A72"},
    {0x41, 0xd0b, "Arm Cortex-A76"},
    {0x41, 0xd0c, "Arm Neoverse N1"},
    {0x41, 0xd40, "Arm Neoverse V1"},
    {0x41, 0xd41, "Arm Cortex-A78"},
    {0x41, 0xd42, "Arm Cortex-A78AE"},
    {0x41, 0xd44, "Arm Cortex-X1"},
    {0x41, 0xd49, "Arm Neoverse N2"},
    {0x41, 0xd4a, "Arm Neoverse E1"},
    {0x41, 0xd4f, "Arm Neoverse V2"},
    {0x41, 0xd84, "Arm Neoverse V3"},
    {0x41, 0xd85, "Arm Cortex-X925"},
    {0x41, 0xd87, "Arm Cortex-A725"},
    {0x41, 0xd8e, "Arm Neoverse N3"},
    {0x43, 0x0af, "Cavium ThunderX2"},
    {0x46, 0x001, "Fujitsu A64FX"},
    {0x48, 0xd01, "HiSilicon TSV110 (Kunpeng 920)"},
    {0x4e, 0x004, "NVIDIA Carmel"},
    {0x61, 0x022, "Apple M1 (Icestorm)"},
    {0x61, 0x023, "Apple M1 (Firestorm)"},
    {0x61, 0x024, "Apple M1 Pro (Icestorm)"},
    {0x61, 0x025, "Apple M1 Pro (Firestorm)"},
    {0x61, 0x028, "Apple M1 Max (Icestorm)"},
    {0x61, 0x029, "Apple M1 Max (Firestorm)"},
    {0x61, 0x032, "Apple M2 (Blizzard)"},
    {0x61, 0x033, "Apple M2 (Avalanche)"},
    {0xc0, 0xac3, "Ampere-1"},
    {0xc0, 0xac4, "Ampere-1A"},
};

// NVIDIA's number for Grace, whose cores are Arm's.
constexpr const char* grace = "jep106:036b:0241";

}  // namespace

std::string arm_core_name(std::uint64_t midr, const std::string& soc) {
  if (midr == 0) return {};
  const auto implementer = unsigned(midr >> 24 & 0xff), part = unsigned(midr >> 4 & 0xfff);
  const auto* const known = std::ranges::find_if(
      cores, [&](const Core& core) { return core.implementer == implementer && core.part == part; });
  if (known == std::end(cores))
    return fmt::format("Arm CPU (implementer 0x{:02x}, part 0x{:03x})", implementer, part);
  return soc == grace ? fmt::format("NVIDIA Grace ({})", known->name) : known->name;
}

}  // namespace tilewright
