// Finds xerbla; the program's own takes precedence.
#include "blas/report.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cctype>

#include "blas/settings.hpp"

namespace tilewright::blas {
namespace {

// Returns the handler of the program, which all libraries see, or else that of the loaded BLAS.
void* find_handler(const char* name, const char* other_name) try {
  if (void* own = dlsym(RTLD_DEFAULT, name)) return own;
  const char* const names[] = {name, other_name, nullptr};
  return find_loaded(names).address;
} catch (...) {
  return nullptr;
}

// Prints nothing if there is no memory for the sentence.
template <class... Values>
void complain_of(const char* sentence, const Values&... values) try {
  complain(fmt::vformat(sentence, fmt::make_format_args(values...)));
} catch (...) {
}

}  // namespace

void report_fortran(const Counterpart& routine, int position) {
  // Holds DGEMM_BATCH for dgemm_batch_; no name is longer than this.
  std::array<char, 32> name{};
  std::size_t length = 0;
  for (const char* c = routine.plain(); *c != '\0' && length + 1 < name.size(); ++c)
    name[length++] = char(std::toupper(static_cast<unsigned char>(*c)));
  while (length > 0 && name[length - 1] == '_') name[--length] = '\0';
  while (length < 6) name[length++] = ' ';
  // A handler that expects an int reads the lower half of the number.
  const std::int64_t number = position;
  using Handler = void (*)(const char*, const std::int64_t*, std::size_t);
  void* handler = routine.wide() ? find_handler("xerbla_64_", "scipy_xerbla_64_")
                                 : find_handler("xerbla_", "scipy_xerbla_");
  if (handler != nullptr)
    reinterpret_cast<Handler>(handler)(name.data(), &number, length);
  else
    complain_of("on entry to {} parameter number {} had an illegal value", name.data(), position);
}

void report_cblas(const Counterpart& routine, int position) {
  using Handler = void (*)(std::int64_t, const char*, const char*, ...);
  void* handler = routine.wide() ? find_handler("cblas_xerbla64_", "cblas_xerbla_64")
                                 : find_handler("cblas_xerbla", "scipy_cblas_xerbla");
  if (handler != nullptr)
    reinterpret_cast<Handler>(handler)(position, routine.symbol(), "");
  else
    complain_of("parameter {} to routine {} was incorrect", position, routine.symbol());
}

}  // namespace tilewright::blas
