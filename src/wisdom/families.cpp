// The kernel families of this build.
#include "wisdom/families.hpp"

#include <algorithm>
#include <map>

#include "core/build_info.hpp"
#include "core/host/fork_gate.hpp"
#include "core/lu_problem.hpp"
#include "kernel/gemm_large/config.hpp"
#include "kernel/gemm_small/config.hpp"
#include "kernel/gemm_small_cpu/config.hpp"

namespace tilewright {
namespace {

constexpr const char* gpu = "gpu";

struct Family {
  std::string operation;
  std::string source_hash;
  nlohmann::json (*complete)(const nlohmann::json& config);
  std::string (*architecture)(const nlohmann::json& config);  // null: all configs are for GPUs
};

// Beyond these no kernel could be made, whatever the device: no number is negative whose usual value is not,
// and none is larger than any tile, stage or distance in bytes that code is generated for.
template <class Config>
nlohmann::json complete_fields(const nlohmann::json& config) {
  constexpr std::int64_t largest = 1 << 16;
  const nlohmann::json usual = to_json(Config());
  nlohmann::json complete = to_json(from_json<Config>(config));
  for (const auto& [name, value] : complete.items()) {
    if (!value.is_number_integer()) continue;
    const std::int64_t least = std::min<std::int64_t>(0, usual.at(name).template get<std::int64_t>());
    if (const auto number = value.template get<std::int64_t>(); number < least || number > largest)
      throw Error(ErrorCode::invalid_argument, name,
                  fmt::format("{} = {} is outside {} to {}", name, number, least, largest));
  }
  return complete;
}
std::string isa_of(const nlohmann::json& config) {
  return to_string(from_json<GemmSmallCpuConfig>(config).isa);
}

// Who factors is decided for a machine as it is, whatever its parts.
std::string of_no_architecture(const nlohmann::json&) { return ""; }

// A vendor's kernels are known by the library's version alone.
nlohmann::json check_version(const nlohmann::json& config) {
  if (const auto it = config.find("version"); config.size() != 1 || it == config.end() || !it->is_string())
    throw Error(
        ErrorCode::invalid_argument, "config",
        fmt::format("config = {} holds more or less than the vendor library's version", config.dump()));
  return config;
}

const std::map<std::string, Family>& families() {
  static constinit Once<const std::map<std::string, Family>> once;
  return once.get([] {
    return std::map<std::string, Family>{
        {"gemm_small_cpu", {"gemm", gemm_small_cpu_source_hash, complete_fields<GemmSmallCpuConfig>, isa_of}},
        {"gemm_small", {"gemm", gemm_small_source_hash, complete_fields<GemmSmallConfig>, nullptr}},
        {"gemm", {"gemm", gemm_large_source_hash, complete_fields<GemmLargeConfig>, nullptr}},
        {"cublas", {"gemm", "vendor", check_version, nullptr}},
        {"lu", {"lu", lu_source_hash, complete_fields<LuConfig>, of_no_architecture}}};
  });
}

const Family* family_named(const std::string& name) {
  const auto it = families().find(name);
  return it == families().end() ? nullptr : &it->second;
}

// Hashes that changed though the code of what was recorded did not, so that records stay valid: the kernels
// moved into a folder for each family, and hashes leave comments out since; those of the CPU and the small
// ones of GPUs learned to sum products into one C, which changes nothing where each has its own, and those of
// the CPU to do more with AVX2, of which nothing was recorded; and the kernel that adds up the parts of a
// long sum has its arguments in another order.
struct RenamedHash {
  std::string_view family, before, now;
};
constexpr RenamedHash renamed_hashes[] = {{"gemm_small_cpu", "3c6df4eac6cab0cf", "9679b29f3e67b737"},
                                          {"gemm_small_cpu", "a3b83e9c3bb52e6f", "9679b29f3e67b737"},
                                          {"gemm_small_cpu", "573804d17d673ec4", "9679b29f3e67b737"},
                                          {"gemm_small", "31f75ebb802b7f4a", "868c1c012f8f7c3a"},
                                          {"gemm_small", "871408aea2c3eda7", "868c1c012f8f7c3a"},
                                          {"gemm_small", "8a3c96641f2a75d8", "868c1c012f8f7c3a"},
                                          {"gemm", "44d4ea9828facc26", "5f7519a6e384f897"}};

}  // namespace

bool is_known_family(const std::string& family) { return family_named(family) != nullptr; }

std::string operation_of(const std::string& family) {
  const Family* known = family_named(family);
  return known == nullptr ? "" : known->operation;
}

bool is_keyed(const std::string& family) { return operation_of(family) == "gemm"; }

std::string current_source_hash(const std::string& family) {
  const Family* known = family_named(family);
  return known == nullptr ? "" : known->source_hash;
}

bool is_current_source_hash(const std::string& hash) {
  return std::any_of(families().begin(), families().end(),
                     [&](const auto& family) { return family.second.source_hash == hash; });
}

std::string renamed_source_hash(const std::string& family, const std::string& hash) {
  for (const RenamedHash& one : renamed_hashes)
    if (one.family == family && one.before == hash) return std::string(one.now);
  return hash;
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
  if (const Family* known = family_named(family))
    return known->architecture == nullptr ? gpu : known->architecture(config);
  const auto it = config.find("architecture");  // of a family that others added, which may say anything
  return it != config.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string architecture_of_all(const std::string& family) {
  const Family* known = family_named(family);
  return known != nullptr && known->architecture == nullptr ? gpu : "";
}

std::int64_t vector_bytes(const std::string& architecture) {
  if (architecture == gpu) return 16;
  return architecture == "avx2" ? 32 : 64;  // to_string(Isa) asks for memory
}

}  // namespace tilewright
