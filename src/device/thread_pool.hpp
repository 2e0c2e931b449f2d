// The threads that a calling thread keeps for its teams: awake for a moment after each, then asleep. What
// they are late for the caller does itself, so that a team takes no longer than its caller alone would,
// whoever else wants the cores.
#pragma once

#include <cstddef>
#include <memory>

namespace tilewright {

class ThreadPool {
 public:
  using Work = void (*)(void* what, int index);

  // The calling thread's. It ends with it.
  static ThreadPool& own();
  // Whether the thread is past that: in destructors and at the end of the program.
  static bool own_has_ended();

  ThreadPool();
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // work(what, index) once for each index in [0, count): 0 on the caller, others on a thread of their own
  // each where there is one and it comes before the caller has done what was its own, else on the caller.
  // Work must not throw, and no index may wait for another. Not from within work. Where there
  // is no memory for threads, fewer take part.
  void run(int count, Work work, void* what);

  // Threads that were started.
  int size() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Stacks as OpenMP gives them to its threads: OMP_STACKSIZE is "512", "16M", " 1 G "; without a unit KiB. 0:
// as the system does.
std::size_t stack_bytes_of_threads();

}  // namespace tilewright
