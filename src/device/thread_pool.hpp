// The threads that a calling thread keeps for its teams: awake for a moment after each, then asleep. The
// caller itself does the work of threads that come late, so a team takes no longer than its caller alone
// would, however busy the cores are.
#pragma once

#include <cstddef>
#include <memory>

namespace tilewright {

class ThreadPool {
 public:
  using Work = void (*)(void* what, int index);

  // Returns the calling thread's pool, which ends with the thread.
  static ThreadPool& own();
  // True if that pool has been destroyed already: in destructors and at the end of the program.
  static bool own_has_ended();

  ThreadPool();
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls work(what, index) once for each index in [0, count): 0 on the caller, the others on a thread of
  // their own each, or on the caller if there is no thread or if it comes only after the caller has finished
  // its own part. Work must not throw, and no index may wait for another. Must not be called from within
  // work. If there is no memory for threads, fewer take part.
  void run(int count, Work work, void* what);

  // The number of threads that were started.
  int size() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns the stack size that OpenMP gives to its threads: OMP_STACKSIZE is "512", "16M", " 1 G "; without a
// unit KiB. 0: the system's default.
std::size_t stack_bytes_of_threads();

}  // namespace tilewright
