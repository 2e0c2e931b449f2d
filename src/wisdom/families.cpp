// The kernel families of this build.
#include "wisdom/families.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "core/build_info.hpp"
#include "core/host/fork_gate.hpp"
#include "core/problem.hpp"
#include "kernel/gemm_large/config.hpp"
#include "kernel/gemm_small/config.hpp"
#include "kernel/gemm_small_cpu/config.hpp"

namespace tilewright {
namespace {

constexpr const char* gpu = "gpu";

std::string isa_of(const nlohmann::json& config) {
  return to_string(from_json<GemmSmallCpuConfig>(config).isa);
}

// The choice of a factorization depends on the whole machine.
std::string of_no_architecture(const nlohmann::json&) { return ""; }

// A vendor's config is the version of the library.
nlohmann::json check_version(const nlohmann::json& config) {
  if (const auto it = config.find("version"); config.size() != 1 || it == config.end() || !it->is_string())
    throw Error(
        ErrorCode::invalid_argument, "config",
        fmt::format("config = {} must contain the version of the vendor library only", config.dump()));
  return config;
}

const std::map<std::string, WisdomFamily>& families() {
  static constinit Once<const std::map<std::string, WisdomFamily>> once;
  return once.get([] {
    return std::map<std::string, WisdomFamily>{
        {"gemm_small_cpu", {"gemm", gemm_small_cpu_source_hash, complete_fields<GemmSmallCpuConfig>, isa_of}},
        {"gemm_small", {"gemm", gemm_small_source_hash, complete_fields<GemmSmallConfig>, nullptr}},
        {"gemm", {"gemm", gemm_large_source_hash, complete_fields<GemmLargeConfig>, nullptr}},
        {"cublas", {"gemm", "vendor", check_version, nullptr}},
        {"lu", {"lu", lu_source_hash, complete_fields<LuConfig>, of_no_architecture}}};
  });
}

struct AddedFamily {
  std::string name;
  WisdomFamily family;
  const AddedFamily* next;
};
constinit std::atomic<const AddedFamily*> added_families{nullptr};

const WisdomFamily* family_named(const std::string& name) {
  const auto it = families().find(name);
  if (it != families().end()) return &it->second;
  for (const AddedFamily* one = added_families.load(); one != nullptr; one = one->next)
    if (one->name == name) return &one->family;
  return nullptr;
}

// Hashes that changed though the recorded code did not, so that records stay valid: kernels moved into a
// folder per family, and hashes leave out comments; kernels of the CPU and small ones of GPUs learned to sum
// products into one C, and those of the CPU more of AVX2, of which nothing was recorded; the kernel that adds
// up the parts of a long sum takes its arguments in another order; kernels of large products serve batches,
// and one beside them batches with values in device memory; code of the CPU begins anywhere in a page, and
// portable kernels, of which nothing was recorded, serve single products without a plan; small kernels of
// GPUs may read through the read-only cache.
struct RenamedHash {
  std::string_view family, before, now;
};
constexpr RenamedHash renamed_hashes[] = {{"gemm_small_cpu", "9679b29f3e67b737", "69ab1845affde9ce"},
                                          {"gemm_small_cpu", "3c6df4eac6cab0cf", "69ab1845affde9ce"},
                                          {"gemm_small_cpu", "a3b83e9c3bb52e6f", "69ab1845affde9ce"},
                                          {"gemm_small_cpu", "573804d17d673ec4", "69ab1845affde9ce"},
                                          {"gemm_small", "31f75ebb802b7f4a", "d4014a1452d35329"},
                                          {"gemm_small", "871408aea2c3eda7", "d4014a1452d35329"},
                                          {"gemm_small", "8a3c96641f2a75d8", "d4014a1452d35329"},
                                          {"gemm_small", "868c1c012f8f7c3a", "d4014a1452d35329"},
                                          {"gemm", "44d4ea9828facc26", "8961363a6bea4e29"},
                                          {"gemm", "5f7519a6e384f897", "8961363a6bea4e29"},
                                          {"gemm", "a27bfea51f5c0054", "8961363a6bea4e29"}};

}  // namespace

void add_family(std::string name, WisdomFamily family) {
  auto* const one = new AddedFamily{std::move(name), std::move(family), added_families.load()};
  while (!added_families.compare_exchange_weak(one->next, one)) {
  }
}

bool is_known_family(const std::string& family) { return family_named(family) != nullptr; }

std::string operation_of(const std::string& family) {
  const WisdomFamily* known = family_named(family);
  return known == nullptr ? "" : known->operation;
}

bool is_keyed(const std::string& family) { return operation_of(family) == "gemm"; }

std::string current_source_hash(const std::string& family) {
  const WisdomFamily* known = family_named(family);
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
  if (const WisdomFamily* known = family_named(family)) (void)known->complete(config);
}

nlohmann::json complete_config(const std::string& family, const nlohmann::json& config) {
  const WisdomFamily* known = family_named(family);
  if (known == nullptr) return config;
  try {
    return known->complete(config);
  } catch (const Error&) {
    return config;
  }
}

std::string architecture_of(const std::string& family, const nlohmann::json& config) {
  if (const WisdomFamily* known = family_named(family))
    return known->architecture == nullptr ? gpu : known->architecture(config);
  const auto it = config.find("architecture");  // of a family that others added, which may say anything
  return it != config.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string architecture_of_all(const std::string& family) {
  const WisdomFamily* known = family_named(family);
  return known != nullptr && known->architecture == nullptr ? gpu : "";
}

std::int64_t vector_bytes(const std::string& architecture) {
  if (architecture == gpu) return 16;
  return architecture == "avx2" ? 32 : 64;  // to_string(Isa) asks for memory
}

}  // namespace tilewright
