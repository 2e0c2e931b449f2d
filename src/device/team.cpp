// What limits a team: children of fork, and trying whether the threads can be had.
#include "device/team.hpp"

#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

namespace tilewright {
namespace {

// Facts of the process that only fork can tell: whether it had threads, and whether this is its child.
std::atomic<bool> had_threads = false, is_child = false;

// Each thread is a folder in /proc/self/task. Where nothing is told, it is taken for many.
void before_fork() {
  struct stat tasks {};
  constexpr nlink_t of_one = 3;  // ".", "..", and the thread
  had_threads = is_child || ::stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > of_one;
}
void in_child() {
  if (had_threads) is_child = true;
}
[[maybe_unused]] const int watches_fork = pthread_atfork(before_fork, nullptr, in_child);

// Stacks as OpenMP gives them to its threads: "512", "16M", " 1 G "; without a unit KiB. 0: as the system
// does.
std::size_t stack_bytes() {
  for (const char* name : {"OMP_STACKSIZE", "GOMP_STACKSIZE"}) {
    const char* text = std::getenv(name);
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

// Threads that wait until all have been started.
class Trial {
 public:
  Trial() {
    pthread_attr_init(&attributes_);
    if (const std::size_t bytes = stack_bytes(); bytes > 0)
      (void)pthread_attr_setstacksize(&attributes_, bytes);
    pthread_mutex_lock(&mutex_);
  }
  ~Trial() {
    pthread_mutex_unlock(&mutex_);
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes_);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // How many of so many can be there at once.
  int start(int count) {
    threads_.reserve(std::size_t(count));
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

}  // namespace

int usable_threads(int wanted) {
  // Of the calling thread, since each that calls has a pool of its own.
  thread_local int tried = 1, most = std::numeric_limits<int>::max();
  wanted = std::min(wanted, most_threads);
  if (wanted <= 1 || is_child) return std::min(wanted, 1);
  if (wanted <= tried) return wanted;
  if (wanted >= most) return most;
  const int others = Trial().start(wanted - 1);
  if (others == wanted - 1) return tried = wanted;
  // Room for what else the call needs.
  most = std::max(1, others - others / 4);
  tried = std::max(tried, most);
  return most;
}

}  // namespace tilewright
