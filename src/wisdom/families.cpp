// The kernel families of this build.
#include "wisdom/families.hpp"

#include <map>

#include "core/build_info.hpp"
#include "kernel/gemm_large/config.hpp"
#include "kernel/gemm_small/config.hpp"
#include "kernel/gemm_small_cpu/config.hpp"

namespace tilewright {
namespace {

constexpr const char* gpu = "gpu";

struct Family {
  std::string source_hash;
  nlohmann::json (*complete)(const nlohmann::json& config);
  std::string (*isa)(const nlohmann::json& config);  // null: all configs are for GPUs
};

template <class Config>
nlohmann::json complete_fields(const nlohmann::json& config) {
  return to_json(from_json<Config>(config));
}
std::string isa_of(const nlohmann::json& config) {
  return to_string(from_json<GemmSmallCpuConfig>(config).isa);
}

// A vendor's kernels are known by the library's version alone.
nlohmann::json check_version(const nlohmann::json& config) {
  if (const auto it = config.find("version"); config.size() != 1 || it == config.end() || !it->is_string())
    throw Error(
        ErrorCode::invalid_argument, "config",
        fmt::format("config = {} holds more or less than the vendor library's version", config.dump()));
  return config;
}

const Family* family_named(const std::string& name) {
  static const std::map<std::string, Family> families = {
      {"gemm_small_cpu", {gemm_small_cpu_source_hash, complete_fields<GemmSmallCpuConfig>, isa_of}},
      {"gemm_small", {gemm_small_source_hash, complete_fields<GemmSmallConfig>, nullptr}},
      {"gemm", {gemm_large_source_hash, complete_fields<GemmLargeConfig>, nullptr}},
      {"cublas", {"vendor", check_version, nullptr}}};
  const auto it = families.find(name);
  return it == families.end() ? nullptr : &it->second;
}

}  // namespace

bool is_known_family(const std::string& family) { return family_named(family) != nullptr; }

std::string current_source_hash(const std::string& family) {
  const Family* known = family_named(family);
  return known == nullptr ? "" : known->source_hash;
}

void check_config(const std::string& family, const nlohmann::json& config) {
  if (const Family* known = family_named(family)) (void)known->complete(config);
}

nlohmann::json complete_config(const std::string& family, const nlohmann::json& config) {
  const Family* known = family_named(family);
  if (known == nullptr) return config;
  try {
    return known->complete(config);
  } catch (const Error&) {
    return config;
  }
}

std::string architecture_of(const std::string& family, const nlohmann::json& config) {
  if (const Family* known = family_named(family)) return known->isa == nullptr ? gpu : known->isa(config);
  return config.value("architecture", "");
}

std::string architecture_of_all(const std::string& family) {
  const Family* known = family_named(family);
  return known != nullptr && known->isa == nullptr ? gpu : "";
}

std::int64_t vector_bytes(const std::string& architecture) {
  if (architecture == gpu) return 16;
  return architecture == to_string(Isa::avx2) ? 32 : 64;
}

}  // namespace tilewright
