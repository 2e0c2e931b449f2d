// A libnccl.so.2 that only describes communicators: any rank has one without its peers, and rank r has GPU r
// mod 3, because the fake driver has three.
#include <cstring>

namespace {

constexpr int invalid = 4, gpus = 3;

struct Communicator {
  int ranks = 0, rank = 0;
};

int tell(const void* communicator, int Communicator::*field, int* to) {
  if (communicator == nullptr) return invalid;
  *to = static_cast<const Communicator*>(communicator)->*field;
  return 0;
}

}  // namespace

extern "C" {

struct FakeUniqueId {
  char bytes[128];
};

int ncclGetVersion(int* version) { return *version = 22902, 0; }
int ncclGetUniqueId(FakeUniqueId* id) { return std::memset(id, 7, sizeof *id), 0; }
int ncclCommInitRank(void** communicator, int ranks, FakeUniqueId, int rank) {
  *communicator = new Communicator{ranks, rank};
  return 0;
}
int ncclCommDestroy(void* communicator) {
  delete static_cast<Communicator*>(communicator);
  return 0;
}
int ncclCommCount(void* communicator, int* ranks) { return tell(communicator, &Communicator::ranks, ranks); }
int ncclCommUserRank(void* communicator, int* rank) { return tell(communicator, &Communicator::rank, rank); }
int ncclCommCuDevice(void* communicator, int* device) {
  const int status = tell(communicator, &Communicator::rank, device);
  if (status == 0) *device %= gpus;
  return status;
}

}  // extern "C"
