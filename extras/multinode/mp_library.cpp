// Finds cuBLASMp near the libraries that the program has loaded, and looks up its functions.
#include "mp_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/env.hpp"
#include "core/input/failure.hpp"
#include "core/refuse.hpp"
#include "core/trust.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr const char* cublasmp_soname = "libcublasmp.so.0";
constexpr const char* nccl_soname = "libnccl.so.2";
// The range of versions whose headers were checked: the signatures used here are the same in all of them.
constexpr int oldest_cublasmp = 700, newest_cublasmp = 1099;

[[noreturn]] void refuse_cublasmp(const std::string& message) {
  throw Error(ErrorCode::unsupported, "cublasmp", message);
}

// Until 0.9 the library encoded a major version as 1000, and all its versions are below 1000.
std::string cublasmp_version(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

std::string path_of_library(void* library) {
  link_map* map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

std::string variable_of_others(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the paths to try: beside NCCL as in NVIDIA's wheels, conda, the loader's paths, the toolkit.
std::vector<std::string> places_of_cublasmp(const fs::path& nccl) {
  std::vector<std::string> all;
  const fs::path wheels = nccl.parent_path().parent_path().parent_path();
  for (const char* toolkit : {"cu13", "cu12"})
    all.push_back((wheels / "cublasmp" / toolkit / "lib" / cublasmp_soname).string());
  if (const std::string conda = variable_of_others("CONDA_PREFIX"); !conda.empty())
    all.push_back(conda + "/lib/" + cublasmp_soname);
  all.emplace_back(cublasmp_soname);
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string toolkit = variable_of_others(name); !toolkit.empty())
      all.push_back(toolkit + "/lib64/" + cublasmp_soname);
  return all;
}

// Returns null with the reason on failure. Binds all symbols at once, so that a missing one shows here.
void* try_cublasmp(const std::string& path, const std::vector<uid_t>& trusted, std::string& reason) {
  // A library that the program has loaded already needs no check of who could have written it.
  if (void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return loaded;
  if (path.find('/') != std::string::npos) {
    std::error_code error;
    if (!fs::exists(path, error)) return reason = "no such file", nullptr;
    if (reason = why_not_trusted(path, trusted); !reason.empty()) return nullptr;
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) reason = loader_error();
  return library;
}

void* open_cublasmp(const std::string& nccl) {
  std::string reason;
  if (const std::string named = Environment::read().cublasmp; !named.empty()) {
    if (void* library = try_cublasmp(named, {}, reason)) return library;
    refuse_cublasmp(fmt::format("the cuBLASMp that TILEWRIGHT_CUBLASMP names cannot be opened: '{}' ({})",
                                named, reason));
  }
  if (void* library = dlopen(cublasmp_soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return library;
  struct stat status {};
  std::vector<uid_t> trusted;  // owners of the NCCL that is loaded
  if (::stat(nccl.c_str(), &status) == 0) trusted.push_back(status.st_uid);
  std::string tried;
  for (const std::string& path : places_of_cublasmp(nccl)) {
    if (void* library = try_cublasmp(path, trusted, reason)) return library;
    tried += fmt::format("{}{} ({})", tried.empty() ? "" : ", ", path, reason);
  }
  refuse_cublasmp(fmt::format("cuBLASMp was not found: tried {}; or name it in TILEWRIGHT_CUBLASMP", tried));
}

template <class F>
void find_function(void* library, const char* name, F& function, const std::string& path) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr) refuse_cublasmp(fmt::format("'{}' has no {}", path, name));
}

struct CublasMpStatus {
  const char* name;
  ErrorCode code;
};
constexpr std::array cublasmp_statuses{CublasMpStatus{"SUCCESS", ErrorCode::ok},
                                       CublasMpStatus{"NOT_INITIALIZED", ErrorCode::internal},
                                       CublasMpStatus{"ALLOCATION_FAILED", ErrorCode::out_of_memory},
                                       CublasMpStatus{"INVALID_VALUE", ErrorCode::unsupported},
                                       CublasMpStatus{"ARCHITECTURE_MISMATCH", ErrorCode::unsupported},
                                       CublasMpStatus{"EXECUTION_FAILED", ErrorCode::device_lost},
                                       CublasMpStatus{"INTERNAL_ERROR", ErrorCode::internal},
                                       CublasMpStatus{"NOT_SUPPORTED", ErrorCode::unsupported}};

}  // namespace

CublasMp::CublasMp() {
  void* nccl = dlopen(nccl_soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (nccl == nullptr)
    refuse_cublasmp(
        fmt::format("{} is not loaded in this process, and cuBLASMp cannot use communicators of another NCCL",
                    nccl_soname));
  const std::string nccl_path = path_of_library(nccl);
  find_function(nccl, "ncclCommCount", comm_count_, nccl_path);
  find_function(nccl, "ncclCommUserRank", comm_rank_, nccl_path);
  find_function(nccl, "ncclCommCuDevice", comm_device_, nccl_path);
  void* library = open_cublasmp(nccl_path);
  path_ = path_of_library(library);
  int (*get_version)(int*) = nullptr;
  find_function(library, "cublasMpGetVersion", get_version, path_);
  check(get_version(&version_), "cublasMpGetVersion");
  if (version_ < oldest_cublasmp || version_ > newest_cublasmp)
    refuse_cublasmp(fmt::format("'{}' is cuBLASMp {}; versions 0.7 to 0.10 are supported", path_,
                                cublasmp_version(version_)));
  find_function(library, "cublasMpCreate", create, path_);
  find_function(library, "cublasMpDestroy", destroy, path_);
  find_function(library, version_ < 800 ? "cublasMpStreamSet" : "cublasMpSetStream", set_stream, path_);
  find_function(library, "cublasMpGridCreate", grid_create, path_);
  find_function(library, "cublasMpGridDestroy", grid_destroy, path_);
  find_function(library, "cublasMpMatrixDescriptorCreate", descriptor_create, path_);
  find_function(library, "cublasMpMatrixDescriptorDestroy", descriptor_destroy, path_);
  find_function(library, "cublasMpGemm_bufferSize", gemm_workspace, path_);
  find_function(library, "cublasMpGemm", gemm, path_);
}

std::string CublasMp::name() const {
  return fmt::format("cuBLASMp {} ({})", cublasmp_version(version_), path_);
}

CublasMp::Rank CublasMp::rank_of(void* communicator) const {
  Rank rank;
  const auto ask = [&](int status, const char* call) {
    if (status != 0)
      refuse_argument(
          "communicator",
          fmt::format("communicator is not an NCCL communicator: {} failed with status {}", call, status));
  };
  ask(comm_count_(communicator, &rank.count), "ncclCommCount");
  ask(comm_rank_(communicator, &rank.rank), "ncclCommUserRank");
  ask(comm_device_(communicator, &rank.device), "ncclCommCuDevice");
  return rank;
}

void CublasMp::check(int status, const char* call) const {
  if (status == 0) return;
  const bool known = status > 0 && std::size_t(status) < cublasmp_statuses.size();
  const CublasMpStatus what =
      known ? cublasmp_statuses[std::size_t(status)] : CublasMpStatus{"unknown status", ErrorCode::internal};
  throw Error(what.code, "cublasmp", fmt::format("{} failed: {} ({})", call, what.name, status));
}

int CublasMp::type_of(DType dtype) {
  constexpr std::array values{0, 1, 4, 5};  // CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F
  return values[std::size_t(dtype)];
}
int CublasMp::compute_of(DType dtype) {
  const bool is_single = dtype == DType::f32 || dtype == DType::c64;
  return is_single ? 68 : 70;  // CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F
}

}  // namespace tilewright
