// The kernel families of this build.
#include "wisdom/families.hpp"

#include "core/build_info.hpp"
#include "kernel/gemm_small_config.hpp"
#include "kernel/gemm_small_cpu_config.hpp"

namespace tilewright {
namespace {

constexpr const char* small_cpu = "gemm_small_cpu";
constexpr const char* small_gpu = "gemm_small";
constexpr const char* gpu = "gpu";

}  // namespace

bool is_known_family(const std::string& family) { return family == small_cpu || family == small_gpu; }

std::string current_source_hash(const std::string& family) {
  return family == small_cpu ? kernel_source_hash : family == small_gpu ? gpu_kernel_source_hash : "";
}

void check_config(const std::string& family, const nlohmann::json& config) {
  if (family == small_cpu) (void)from_json<GemmSmallCpuConfig>(config);
  if (family == small_gpu) (void)from_json<GemmSmallConfig>(config);
}

std::string architecture_of(const std::string& family, const nlohmann::json& config) {
  if (family == small_cpu) return to_string(from_json<GemmSmallCpuConfig>(config).isa);
  if (const std::string all = architecture_of_all(family); !all.empty()) return all;
  return config.value("architecture", "");
}

std::string architecture_of_all(const std::string& family) { return family == small_gpu ? gpu : ""; }

std::int64_t vector_bytes(const std::string& architecture) {
  if (architecture == gpu) return 16;
  return architecture == to_string(Isa::avx2) ? 32 : 64;
}

}  // namespace tilewright
