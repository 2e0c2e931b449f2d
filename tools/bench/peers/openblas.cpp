// OpenBLAS, opened at run time; a serial build is preferred, since threads share the batch.
#include <fmt/format.h>

#include <cstdlib>

#include "cblas_library.hpp"
#include "device/cpu.hpp"

namespace tilewright::peers {
namespace {

// `kind` is "serial" or "pthread", Debian's names of its builds. Only the latter may be entered by several
// threads at once.
std::vector<std::string> candidates(const std::string& kind) {
  std::vector<std::string> paths;
  for (const std::string triplet : {"x86_64-linux-gnu", "aarch64-linux-gnu"})
    paths.push_back("/usr/lib/" + triplet + "/openblas-" + kind + "/libopenblas.so.0");
  for (const char* name : {"libopenblas.so.0", "libopenblas.so"}) paths.emplace_back(name);
  return paths;
}

// "OpenBLAS 0.3.21 DYNAMIC_ARCH ... SkylakeX ..." -> "0.3.21 SkylakeX"
std::string version_of(const Library& library) {
  std::string version = "unknown";
  if (const auto config = library.symbol<const char* (*)()>("openblas_get_config")) {
    const std::string text = config();
    const std::size_t begin = text.find(' ');
    version = text.substr(begin + 1, text.find(' ', begin + 1) - begin - 1);
  }
  if (const auto core = library.symbol<const char* (*)()>("openblas_get_corename"))
    version += std::string(" ") + core();
  return version;
}

// One thread uses the serial build, several the one with locks, set to start no threads of its own.
class OpenBlas : public Peer {
 public:
  OpenBlas(CblasPeer serial, std::unique_ptr<CblasPeer> shared)
      : serial_(std::move(serial)), shared_(std::move(shared)) {}
  std::string name() const override { return serial_.name(); }
  std::string version() const override { return serial_.version(); }
  PeerOffer prepare(const PeerCase& request) const override {
    if (request.threads == 1 && request.callers == 1) return serial_.prepare(request);
    if (shared_) return shared_->prepare(request);
    return PeerOffer::decline("this serial build is wrong when several threads call it");
  }

 private:
  CblasPeer serial_;
  std::unique_ptr<CblasPeer> shared_;
};

// Returns 0 for a build without locks: all callers share its scratch memory.
bool safe_for_threads(const Library& library) {
  const auto parallel = library.symbol<int (*)()>("openblas_get_parallel");
  return parallel && parallel() != 0;
}

Library open_quiet(const std::string& kind) {
  Library library = Library::open(candidates(kind));
  if (const auto set_threads = library.symbol<void (*)(int)>("openblas_set_num_threads")) set_threads(1);
  return library;
}

}  // namespace

void find_openblas(PeerSearch& search) {
  // Releases up to 0.3.21 take AVX-512 processors newer than themselves for a Haswell; OpenBLAS reads this
  // variable while loading.
  if (cpu_info().avx512) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  const Library serial = open_quiet("serial");
  if (!serial) {
    search.missing.push_back({"openblas", serial.error()});
    return;
  }
  const Library threaded = open_quiet("pthread");
  std::unique_ptr<CblasPeer> shared;
  if (threaded && safe_for_threads(threaded))
    shared = std::make_unique<CblasPeer>("openblas", version_of(threaded), threaded);
  search.add(
      std::make_unique<OpenBlas>(CblasPeer("openblas", version_of(serial), serial), std::move(shared)));
}

}  // namespace tilewright::peers
