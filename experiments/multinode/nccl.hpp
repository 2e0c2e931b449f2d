// A communicator of NCCL, which is opened at run time; its functions are declared here by their published
// signatures.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "ranks.hpp"

namespace tilewright::distributed {

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
