// The one kernel family of this build.
#include "wisdom/families.hpp"

#include "core/build_info.hpp"
#include "kernel/gemm_small_cpu_config.hpp"

namespace tilewright {
namespace {

constexpr const char* small_cpu = "gemm_small_cpu";

}  // namespace

bool is_known_family(const std::string& family) { return family == small_cpu; }

std::string current_source_hash(const std::string& family) {
  return family == small_cpu ? kernel_source_hash : "";
}

void check_config(const std::string& family, const nlohmann::json& config) {
  if (family == small_cpu) (void)from_json<GemmSmallCpuConfig>(config);
}

std::string architecture_of(const std::string& family, const nlohmann::json& config) {
  if (family == small_cpu) return to_string(from_json<GemmSmallCpuConfig>(config).isa);
  return config.value("architecture", "");
}

std::int64_t vector_bytes(const std::string& architecture) {
  return architecture == to_string(Isa::avx2) ? 32 : 64;
}

}  // namespace tilewright
