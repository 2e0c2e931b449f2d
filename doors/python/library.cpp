// A notice for each problem without a record would print a line for each shape of a notebook: explain() shows
// these notices, and TILEWRIGHT_NOTICES=on restores them.
#include "library.hpp"

#include <cstdlib>
#include <cstring>

namespace tilewright::python {
namespace {

ContextOptions options(const std::string& cblas) {
  ContextOptions options;
  options.cblas = cblas;
  const char* notices = ::secure_getenv("TILEWRIGHT_NOTICES");
  options.notices = notices != nullptr && std::strcmp(notices, "off") != 0 && *notices != '\0';
  return options;
}

}  // namespace

Context& Library::context() {
  std::call_once(once_, [this] { context_ = std::make_unique<Context>(options(cblas_)); });
  return *context_;
}

}  // namespace tilewright::python
