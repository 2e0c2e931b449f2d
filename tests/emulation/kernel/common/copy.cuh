// The copies and barriers of src/kernel/common/copy.cuh, emulated; found before those by the tests that run
// stencils on the host.
#pragma once

#include "emulation/gpu.hpp"

namespace tilewright {

template <int Bytes>
inline void copy_async(void* shared, const void* global) {
  emulation::copy(emulation::Queue::loads, shared, global, Bytes, true);
}
inline void copy_async_commit() { emulation::commit(emulation::Queue::loads); }
template <int Pending>
inline void copy_async_wait() {
  emulation::wait(emulation::Queue::loads, Pending);
}
inline void barrier_init(unsigned long long* barrier, unsigned arrivals) {
  emulation::barrier_init(barrier, arrivals);
}
inline void barrier_init_fence() {}
inline void barrier_arrive_expect(unsigned long long* barrier, unsigned bytes) {
  emulation::barrier_expect(barrier, bytes);
  emulation::barrier_arrive(barrier);
}
inline void copy_async_arrive(unsigned long long* barrier) { emulation::arrive_after_copies(barrier); }
inline void barrier_wait(unsigned long long* barrier, unsigned parity) {
  emulation::barrier_wait(barrier, parity);
}
inline void bulk_load(void* shared, const void* global, unsigned bytes, unsigned long long* barrier) {
  emulation::bulk_load(shared, global, bytes, barrier);
}
inline void bulk_store(void* global, const void* shared, unsigned bytes) {
  emulation::copy(emulation::Queue::stores, global, shared, bytes, false);
}
inline void bulk_store_commit() { emulation::commit(emulation::Queue::stores); }
template <int Pending>
inline void bulk_store_wait_read() {
  emulation::wait(emulation::Queue::stores, Pending);
}
inline void copy_engine_fence() {}
inline unsigned warp_sum(unsigned value) { return emulation::warp_sum(value); }

}  // namespace tilewright
