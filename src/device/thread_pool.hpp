// The threads that a calling thread keeps for its teams: awake for a moment after each, then asleep. The
// caller does the work of late threads, so a team never takes longer than its caller alone.
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
  ThreadPool& operator=(ThreadPool&&) = delete;

  // Calls work(what, index) once per index in [0, count): 0 on the caller, the others on threads, or on the
  // caller if a thread is missing or late. Work must not throw, wait for another index, or call run().
  void run(int count, Work work, void* what);

  // The number of threads that were started.
  int size() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns the stack size of OpenMP's threads by OMP_STACKSIZE ("512" KiB, "16M", " 1 G "); 0: the default.
std::size_t stack_bytes_of_threads();

}  // namespace tilewright
