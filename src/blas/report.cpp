// Finding xerbla: the program's own goes first.
#include "blas/report.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cctype>

#include "blas/settings.hpp"

namespace tilewright::blas {
namespace {

// That of the program, which all libraries see, or that of the loaded BLAS.
void* find_handler(const char* name, const char* other_name) {
  if (void* own = dlsym(RTLD_DEFAULT, name)) return own;
  const char* const names[] = {name, other_name, nullptr};
  return find_loaded(names).address;
}

}  // namespace

void report_fortran(const Counterpart& routine, int position) {
  // DGEMM_BATCH of dgemm_batch_.
  std::string name = routine.plain();
  while (!name.empty() && name.back() == '_') name.pop_back();
  for (char& c : name) c = char(std::toupper(static_cast<unsigned char>(c)));
  name.resize(std::max<std::size_t>(name.size(), 6), ' ');
  // The lower half of the number is where an int is expected.
  const std::int64_t number = position;
  using Handler = void (*)(const char*, const std::int64_t*, std::size_t);
  void* handler = routine.wide() ? find_handler("xerbla_64_", "scipy_xerbla_64_")
                                 : find_handler("xerbla_", "scipy_xerbla_");
  if (handler != nullptr)
    reinterpret_cast<Handler>(handler)(name.c_str(), &number, name.size());
  else
    complain(fmt::format("on entry to {} parameter number {} had an illegal value", name, position));
}

void report_cblas(const Counterpart& routine, int position) {
  using Handler = void (*)(std::int64_t, const char*, const char*, ...);
  void* handler = routine.wide() ? find_handler("cblas_xerbla64_", "cblas_xerbla_64")
                                 : find_handler("cblas_xerbla", "scipy_cblas_xerbla");
  if (handler != nullptr)
    reinterpret_cast<Handler>(handler)(position, routine.symbol(), "");
  else
    complain(fmt::format("parameter {} to routine {} was incorrect", position, routine.symbol()));
}

}  // namespace tilewright::blas
