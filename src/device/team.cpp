// Limits teams: after fork, and to the threads that can be started; and decides whose threads they use.
#include "device/team.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "core/env.hpp"
#include "core/host/fork_gate.hpp"
#include "core/refuse.hpp"

namespace tilewright {
namespace {

// Starts threads that wait until all have been started.
class Trial {
 public:
  Trial() {
    pthread_attr_init(&attributes_);
    if (const std::size_t bytes = stack_bytes_of_threads(); bytes > 0)
      (void)pthread_attr_setstacksize(&attributes_, bytes);
    pthread_mutex_lock(&mutex_);
  }
  ~Trial() {
    pthread_mutex_unlock(&mutex_);
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes_);
  }
  Trial& operator=(Trial&&) = delete;

  // Returns how many of `count` threads can exist at once.
  int start(int count) {
    threads_.reserve(std::size_t(count));
    const SignalsBlocked scope;
    const auto wait = [](void* trial) -> void* {
      pthread_mutex_lock(&static_cast<Trial*>(trial)->mutex_);
      pthread_mutex_unlock(&static_cast<Trial*>(trial)->mutex_);
      return nullptr;
    };
    for (pthread_t thread{}; int(threads_.size()) < count; threads_.push_back(thread))
      if (pthread_create(&thread, &attributes_, wait, this) != 0) break;
    return int(threads_.size());
  }

 private:
  pthread_attr_t attributes_{};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::vector<pthread_t> threads_;
};

thread_local bool inside = false;

// True if any library other than this project's has the OpenMP runtime among its needed libraries.
class OthersWithOpenmp {
 public:
  OthersWithOpenmp() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&omp_get_max_threads), &info) == 0 || info.dli_fname == nullptr)
      return;
    runtime_ = base_name(info.dli_fname);
    dl_iterate_phdr(visit, this);
  }
  bool found() const { return found_; }

 private:
  static std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

  static int visit(dl_phdr_info* object, std::size_t, void* self) {
    auto& search = *static_cast<OthersWithOpenmp*>(self);
    if (base_name(object->dlpi_name).find("tilewright") != std::string_view::npos) return 0;
    for (int i = 0; i < object->dlpi_phnum; ++i)
      if (const auto& part = object->dlpi_phdr[i]; part.p_type == PT_DYNAMIC)
        search.found_ |= search.needs(reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + part.p_vaddr),
                                      object->dlpi_addr);
    return search.found_ ? 1 : 0;
  }
  bool needs(const ElfW(Dyn) * entries, ElfW(Addr) base) const {
    ElfW(Addr) names = 0;
    for (const auto* entry = entries; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_STRTAB) names = entry->d_un.d_ptr;
    if (names == 0) return false;
    if (names < base) names += base;  // if the loader has not relocated it to an address
    for (const auto* entry = entries; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_NEEDED &&
          runtime_ == base_name(reinterpret_cast<const char*>(names + entry->d_un.d_val)))
        return true;
    return false;
  }

  std::string runtime_;
  bool found_ = false;
};

// True if the user configured the places or the waiting of OpenMP's threads.
bool openmp_is_configured() {
  return omp_get_proc_bind() != omp_proc_bind_false || ::secure_getenv("OMP_WAIT_POLICY") != nullptr ||
         ::secure_getenv("GOMP_SPINCOUNT") != nullptr;
}

std::atomic<bool> openmp_was_chosen = false;

bool choose_openmp() {
  const std::string asked = Environment::read().team;
  return asked == "openmp" || (asked != "own" && (openmp_is_configured() || OthersWithOpenmp().found()));
}

}  // namespace

std::size_t stack_bytes_of_threads() {
  for (const char* name : {"OMP_STACKSIZE", "GOMP_STACKSIZE"}) {
    const char* text = ::secure_getenv(name);
    if (text == nullptr) continue;
    char* end = nullptr;
    const unsigned long long size = std::strtoull(text, &end, 10);
    if (end == text) continue;
    while (*end == ' ') ++end;
    const char unit = *end == '\0' ? 'K' : char(*end & ~0x20);
    const int shift = unit == 'B' ? 0 : unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : -1;
    if (shift >= 0 && size < (1ull << 40)) return std::size_t(size << shift);
  }
  return 0;
}

bool is_in_team() { return inside || omp_in_parallel() != 0; }

InTeam::InTeam() : before_(inside) { inside = true; }
InTeam::~InTeam() { inside = before_; }

void prefer_openmp() { openmp_was_chosen = true; }

bool openmp_runs_teams() {
  static constinit Once<const bool> chosen;
  return openmp_was_chosen || chosen.get(choose_openmp);
}

void check_threads(int threads) { refuse_outside("threads", threads, 0, most_threads); }

int usable_threads(int wanted) {
  // Kept per calling thread, since each caller has a pool of its own.
  thread_local int tried = 1, most = std::numeric_limits<int>::max();
  wanted = std::min(wanted, most_threads);
  if (wanted <= 1 || fork_gate::threads_were_lost()) return std::min(wanted, 1);
  if (wanted <= tried) return wanted;
  if (wanted >= most) return most;
  const NoCancel uncancelled;  // the trial threads must be joined
  const KeepErrno before;
  int others = 0;
  try {
    others = Trial().start(wanted - 1);
    (void)ThreadPool::own();
  } catch (const std::bad_alloc&) {
    return tried;  // the last known number; the next call tries again
  }
  if (others == wanted - 1) return tried = wanted;
  // Leave room for the call's other needs.
  most = std::max(1, others - others / 4);
  tried = std::max(tried, most);
  return most;
}

}  // namespace tilewright
