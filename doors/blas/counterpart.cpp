// Searches the loaded libraries and opens others.
#include "blas/counterpart.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "blas/settings.hpp"
#include "blas/tilewright_blas.hpp"
#include "core/host/fork_gate.hpp"
#include "core/host/stack.hpp"

namespace tilewright::blas {
namespace {

const void* base_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

// True if the address lies in this library, or in another copy of it, which would send calls back.
bool is_own(void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0) return false;
  static constinit Once<const void* const> once;
  const void* const own =
      once.get([] { return base_of(reinterpret_cast<const void*>(&tilewright_blas_version)); });
  if (info.dli_fbase == own) return true;
  void* handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  const void* const marker = dlsym(handle, "tilewright_blas_version");
  dlclose(handle);
  return marker != nullptr && base_of(marker) == info.dli_fbase;
}

// Returns the paths in the loader's order. The caller opens them after the walk, because the loader holds a
// lock during it.
std::vector<std::string> loaded_paths() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0')
          static_cast<std::vector<std::string>*>(data)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

void* symbol_of(void* handle, const char* const* names) {
  for (; *names != nullptr; ++names)
    if (void* address = dlsym(handle, *names); address != nullptr && !is_own(address)) return address;
  return nullptr;
}

// True if the library of a plain name uses 64-bit integers. Its sum of absolute values then reads the length
// below as negative and adds nothing; a library of 32-bit integers sees the lower half, which is 1.
bool is_wide(void* handle, const char* plain) {
  constexpr std::int64_t length = 1 - (std::int64_t(1) << 32), step = 1;
  const double one = 1;
  const bool wheel = std::strncmp(plain, "scipy_", 6) == 0;
  const std::array<const char*, 2> fortran{wheel ? "scipy_dasum_" : "dasum_", nullptr};
  if (void* sum = symbol_of(handle, fortran.data()))
    return reinterpret_cast<double (*)(const std::int64_t*, const double*, const std::int64_t*)>(sum)(
               &length, &one, &step) == 0;
  const std::array<const char*, 2> c{wheel ? "scipy_cblas_dasum" : "cblas_dasum", nullptr};
  if (void* sum = symbol_of(handle, c.data()))
    return reinterpret_cast<double (*)(std::int64_t, const double*, std::int64_t)>(sum)(length, &one, step) ==
           0;
  return false;
}

// Has the library take its working memory now, while no fork can happen: OpenBLAS takes its first under a
// spin lock, and a child forked meanwhile would wait for that lock for ever. The solve is of one element;
// libraries of either width of integers read a 1.
void take_working_memory(void* handle) {
  using Solve = void (*)(const char*, const char*, const char*, const char*, const std::int64_t*,
                         const std::int64_t*, const double*, const double*, const std::int64_t*, double*,
                         const std::int64_t*, std::size_t, std::size_t, std::size_t, std::size_t);
  constexpr std::array names{"dtrsm_",          "scipy_dtrsm_", "dtrsm_64_",
                             "scipy_dtrsm_64_", "dtrsm64_",     static_cast<const char*>(nullptr)};
  const auto solve = reinterpret_cast<Solve>(symbol_of(handle, names.data()));
  const std::int64_t length = 1;
  const double one = 1;
  double x = 1;
  if (solve != nullptr)
    solve("L", "L", "N", "N", &length, &length, &one, &one, &length, &x, &length, 1, 1, 1, 1);
}

// Lists the default libraries with integers of this width; the library that the user names comes first.
std::vector<std::string> default_libraries(bool wide) {
  std::vector<std::string> names;
  if (const std::string& named = settings().library; !named.empty()) names.push_back(named);
  for (const char* name : {"libopenblas.so.0", "libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so",
                           "liblapacke.so.3", "liblapack.so.3", "libcblas.so.3", "libblas.so.3"})
    if (!wide) names.emplace_back(name);
  for (const char* name : {"libopenblas64_.so.0", "libopenblas64.so.0", "libmkl_rt.so.3", "libmkl_rt.so.2",
                           "libmkl_rt.so", "liblapacke64.so.3", "liblapack64.so.3", "libblas64.so.3"})
    if (wide) names.emplace_back(name);
  return names;
}

struct Candidate {
  Symbol symbol;
  bool foreign = false;  // the program's integers are of the other width
};

std::string name_of(void* address) {
  Dl_info info{};
  const std::string path = dladdr(address, &info) == 0 ? "" : info.dli_fname;
  return path.substr(path.find_last_of('/') + 1);
}

// For plain names, `symbol` is the name that the program called.
Candidate find_candidate(const char* symbol, const char* const* spellings, const char* plain, bool wide) {
  const std::array<const char*, 2> called{symbol, nullptr};
  for (const char* const* names : {called.data(), spellings}) {
    Symbol loaded = find_loaded(names);
    if (loaded.address == nullptr) continue;
    const bool foreign = !wide && is_wide(loaded.handle, symbol);
    if (!foreign || names == called.data()) return {std::move(loaded), foreign};
  }
  for (const std::string& library : default_libraries(wide)) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    const std::array<const char*, 2> as_plain{plain, nullptr};
    void* address = symbol_of(handle, spellings);
    if (address != nullptr && !wide && is_wide(handle, plain)) address = nullptr;
    if (address == nullptr && wide && is_wide(handle, plain)) address = symbol_of(handle, as_plain.data());
    if (address != nullptr) return {{address, handle, library}};
    dlclose(handle);
  }
  return {};
}

}  // namespace

Symbol find_loaded(const char* const* names) {
  const fork_gate::Section section;
  return at_ease([names]() -> Symbol {
    for (const std::string& path : loaded_paths()) {
      void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
      if (handle == nullptr) continue;
      if (void* address = symbol_of(handle, names)) return {address, handle, path};
      dlclose(handle);
    }
    return {};
  });
}

// If memory runs out, asks the loader for the next symbol of the name behind this library, and keeps nothing.
const Found& Counterpart::found_without_memory() noexcept {
  constexpr int unasked = 0, asking = 1, asked = 2;
  int state = unasked;
  if (without_memory_.compare_exchange_strong(state, asking)) {
    void* const next = dlsym(RTLD_NEXT, symbol_);
    if (next != nullptr && !is_own(next)) next_ = {next, Route::pass};
    without_memory_.store(state = asked);
  }
  while (state == asking) state = without_memory_.load();
  return next_;
}

const Found& Counterpart::find() noexcept {
  const fork_gate::Section section;  // a library that is half opened at a fork would stay so in the child
  try {
    return at_ease([this]() -> std::reference_wrapper<const Found> { return find_or_throw(); });
  } catch (...) {
    return found_without_memory();
  }
}

const Found& Counterpart::find_or_throw() {
  const Settings& wanted = settings();
  const Candidate other = find_candidate(symbol_, spellings_, plain_, wide_);
  auto found = std::make_unique<Found>();
  found->routine = other.symbol.address;
  if (found->routine != nullptr) {
    take_working_memory(other.symbol.handle);
    found->library = name_of(found->routine);
    if (other.foreign || (wanted.mode == Mode::off && !wanted.observes()))
      found->route = Route::pass;
    else if (wanted.mode == Mode::automatic && !wanted.observes())
      found->route = Route::quick;
  }
  const Found* expected = nullptr;
  if (found_.compare_exchange_strong(expected, found.get(), std::memory_order_acq_rel))
    return *found.release();
  return *expected;
}

int threads_of_program() {
  using Count = int (*)();
  static constinit Once<const Count> once;
  const Count count = once.get([] {
    constexpr std::array names{"openblas_get_num_threads",
                               "scipy_openblas_get_num_threads64_",
                               "scipy_openblas_get_num_threads",
                               "openblas_get_num_threads64_",
                               "MKL_Get_Max_Threads",
                               "bli_thread_get_num_threads",
                               static_cast<const char*>(nullptr)};
    return reinterpret_cast<Count>(find_loaded(names.data()).address);
  });
  return count == nullptr ? 0 : std::max(0, count());
}

}  // namespace tilewright::blas
