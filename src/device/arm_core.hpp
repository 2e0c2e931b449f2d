// Names of 64-bit Arm cores by the register MIDR_EL1, which Linux shows in sysfs and to programs that read
// it.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

// Returns e.g. "Arm Neoverse N1"; a core that is not known by name has its numbers instead, and 0 has "".
// `soc` is the identity that the firmware gives the chip, e.g. "jep106:036b:0241"; "" = unknown.
std::string arm_core_name(std::uint64_t midr, const std::string& soc);

}  // namespace tilewright
