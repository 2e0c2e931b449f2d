// Processes of one machine that measure together, each with one GPU: forked before any GPU is used, with
// shared memory in which they wait for each other and store their times. All waiting is bounded.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ranks.hpp"

namespace tilewright::distributed {

constexpr int most_ranks = 16;
constexpr std::chrono::seconds patience{90};

struct Shared {
  std::atomic<int> arrived{0};
  std::atomic<bool> has_id{false};
  std::array<char, 128> id{};  // of the communicator
  std::array<double, most_ranks> numbers{};
};

class Ranks {
 public:
  Ranks(int rank, int count, Shared& shared) : rank_(rank), count_(count), shared_(shared) {}
  int rank() const { return rank_; }
  int count() const { return count_; }
  Shared& shared() const { return shared_; }

  // Returns when all have called it; throws if one does not within `patience`.
  void meet() {
    const int wanted = ++meetings_ * count_;
    ++shared_.arrived;
    wait([&] { return shared_.arrived >= wanted; });
  }
  template <class Done>
  static void wait(Done done) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("another rank does not come");
      std::this_thread::yield();
    }
  }
  // Returns the largest of all ranks' numbers.
  double largest(double own) {
    shared_.numbers[std::size_t(rank_)] = own;
    meet();
    double most = own;
    for (int r = 0; r < count_; ++r)
      most = shared_.numbers[std::size_t(r)] > most ? shared_.numbers[std::size_t(r)] : most;
    meet();
    return most;
  }

 private:
  int rank_, count_, meetings_ = 0;
  Shared& shared_;
};

// Ends all processes when one has failed or the time is up; returns 0 if all have ended well.
inline int wait_for(std::vector<pid_t> processes, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int result = 0;
  std::size_t left = processes.size();
  while (left > 0) {
    for (pid_t& process : processes) {
      int status = 0;
      if (process == 0 || waitpid(process, &status, WNOHANG) != process) continue;
      process = 0, --left;
      if (status != 0) result = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    if (result != 0 || std::chrono::steady_clock::now() > end) {
      if (result == 0) std::fprintf(stderr, "the time is up\n"), result = 124;
      for (const pid_t process : processes)
        if (process != 0) kill(process, SIGKILL), waitpid(process, nullptr, 0);
      return result;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return result;
}

// Runs work(ranks) in `count` processes.
template <class Work>
int run_ranks(int count, std::chrono::seconds limit, Work work) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  auto* shared = new (memory) Shared;
  std::vector<pid_t> processes;
  for (int rank = 0; rank < count; ++rank) {
    const pid_t process = fork();
    if (process < 0) throw std::runtime_error("cannot fork");
    if (process > 0) {
      processes.push_back(process);
      continue;
    }
    int result = 0;
    try {
      Ranks ranks(rank, count, *shared);
      work(ranks);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      result = 1;
    }
    std::fflush(stdout);
    _exit(result);
  }
  return wait_for(std::move(processes), limit);
}

// A communicator of NCCL, which is opened at run time; its functions are declared here by their published
// signatures.

struct UniqueId {
  char bytes[128];
};

class Communicator {
 public:
  // All ranks construct it together; each one's GPU is the current one.
  Communicator(const std::string& path, Ranks& ranks) {
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    Shared& shared = ranks.shared();
    UniqueId id{};
    if (ranks.rank() == 0) {
      check(find<int (*)(UniqueId*)>("ncclGetUniqueId")(&id), "ncclGetUniqueId");
      std::copy_n(id.bytes, sizeof id.bytes, shared.id.begin());
      shared.has_id = true;
    }
    Ranks::wait([&] { return shared.has_id.load(); });
    std::copy_n(shared.id.begin(), sizeof id.bytes, id.bytes);
    check(find<int (*)(void**, int, UniqueId, int)>("ncclCommInitRank")(&handle_, ranks.count(), id,
                                                                        ranks.rank()),
          "ncclCommInitRank");
  }
  ~Communicator() {
    if (handle_ != nullptr) (void)find<int (*)(void*)>("ncclCommDestroy")(handle_);
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  void* get() const { return handle_; }
  int version() const {
    int version = 0;
    check(find<int (*)(int*)>("ncclGetVersion")(&version), "ncclGetVersion");
    return version;
  }

 private:
  static void check(int status, const char* call) {
    if (status != 0)
      throw std::runtime_error(std::string(call) + " failed with status " + std::to_string(status));
  }
  template <class F>
  F find(const char* name) const {
    void* found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(std::string("NCCL has no ") + name);
    return reinterpret_cast<F>(found);
  }

  void* library_ = nullptr;
  void* handle_ = nullptr;
};

}  // namespace tilewright::distributed
