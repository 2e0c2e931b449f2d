// Locks and one-time initialisations that other threads hold while the process forks, and the library's own
// stacks. Children may take minutes, which only those that hang need.
#include "core/host/fork_gate.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/host/stack.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

bool child_ends_well(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(300);
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

// A thread that is within f() from the constructor on, until it is released.
class Within {
 public:
  explicit Within(std::function<void(const std::function<void()>& wait)> f)
      : thread_([this, f = std::move(f)] {
          f([this] {
            entered_ = true;
            while (!released_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          });
        }) {
    while (!entered_) std::this_thread::yield();
  }
  ~Within() {
    released_ = true;
    thread_.join();
  }
  void release_soon() {
    std::thread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      released_ = true;
    }).detach();
  }

 private:
  std::atomic<bool> entered_ = false, released_ = false;
  std::thread thread_;
};

TEST(ForkGate, ChildrenFindNoLockHeldByAThreadThatIsNotThere) {
  Mutex mutex;
  Within holder([&](const auto& wait) {
    const std::lock_guard lock(mutex);
    wait();
  });
  holder.release_soon();
  EXPECT_TRUE(child_ends_well([&] {
    const std::lock_guard lock(mutex);
    return fork_gate::threads_were_lost();
  }));
}

TEST(ForkGate, ChildrenFindNothingHalfMade) {
  static constinit Once<const int> once;
  Within maker([&](const auto& wait) {
    once.get([&] {
      wait();
      return 1;
    });
  });
  maker.release_soon();
  EXPECT_TRUE(child_ends_well([] { return once.get([] { return 2; }) == 1; }));
}

TEST(ForkGate, LongLocksAreNotWaitedFor) {
  LongMutex mutex;
  const Within holder([&](const auto& wait) {
    const std::lock_guard lock(mutex);
    wait();
  });
  EXPECT_TRUE(child_ends_well([&] {
    const std::lock_guard lock(mutex);
    return true;
  }));
}

// The thread in the gate waits for a thread that has yet to enter: fork lets that one in.
TEST(ForkGate, ForkLetsThoseInThatOthersWaitFor) {
  std::atomic<bool> has_entered = false;
  std::thread late;
  Within waiter([&](const auto& wait) {
    const fork_gate::Section section;
    late = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const fork_gate::Section own;
      has_entered = true;
    });
    wait();
    while (!has_entered) std::this_thread::yield();
  });
  waiter.release_soon();
  EXPECT_TRUE(child_ends_well([&] { return has_entered.load(); }));
  late.join();
}

TEST(ForkGate, AThreadThatForksWithinKeepsItsLocks) {
  Mutex mutex;
  const std::lock_guard lock(mutex);
  EXPECT_TRUE(child_ends_well([&] { return fork_gate::is_within() && !mutex.try_lock(); }));
}

TEST(Once, IsMadeOnceAndAgainAfterAnException) {
  static constinit Once<const std::string> once;
  EXPECT_THROW(once.get([]() -> std::string { throw std::runtime_error("not yet"); }), std::runtime_error);
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { EXPECT_EQ(once.get([&] { return ++made, std::string("made"); }), "made"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
}

TEST(Stack, ResultsAndExceptionsComeBack) {
  const auto deep = [](const char* what) {
    volatile char room[100000] = {};
    if (what != nullptr) throw std::runtime_error(what);
    return int(room[5]) + 42;
  };
  EXPECT_EQ(at_ease([&] { return deep(nullptr); }), 42);
  EXPECT_THROW(at_ease([&] { return deep("thrown there"); }), std::runtime_error);
  EXPECT_EQ(at_ease([&] { return at_ease([&] { return deep(nullptr) + 1; }); }), 43);
  EXPECT_THROW(with_stack(std::size_t(1) << 60, [] {}), Error);
}

// A fiber that is switched out keeps its part of the stack while another of its thread uses it.
TEST(Stack, FibersOfOneThreadDoNotShare) {
  static ucontext_t main, first, second;
  static int kept = 0;
  const auto run_first = [] {
    with_stack(8192, [] {
      volatile int own = 1;
      swapcontext(&first, &second);
      kept = own;
    });
  };
  const auto run_second = [] {
    with_stack(8192, [] {
      volatile char over[30000];
      for (volatile char& byte : over) byte = 7;
    });
  };
  std::vector<char> stacks[2] = {std::vector<char>(65536), std::vector<char>(65536)};
  const auto make = [&](ucontext_t& fiber, int stack, void (*f)(), ucontext_t* next) {
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stacks[stack].data();
    fiber.uc_stack.ss_size = stacks[stack].size();
    fiber.uc_link = next;
    makecontext(&fiber, f, 0);
  };
  make(second, 1, run_second, &first);
  make(first, 0, run_first, &main);
  swapcontext(&main, &first);
  EXPECT_EQ(kept, 1);
}

}  // namespace
}  // namespace tilewright
