// One thing that calibration times, as a value: a transfer, a copy on the host, a product, and what runs
// beside it. It is the key of a measured time in the log, and what a fitted model predicts a time for. How it
// is timed is machine.hpp's.
#pragma once

#include <algorithm>
#include <string>

#include "core/problem.hpp"

namespace tilewright {

enum class TimedWork : std::uint8_t {
  start_threads,  // so many, joined again
  start_gpus,     // a thread for each GPU, which copies the bytes there, all joined again

  stream,     // through host memory by so many threads, two bytes read for each one written
  host_copy,  // from pageable memory into pinned memory, by so many threads
  pin,        // pageable memory as it lies, and give it back
  to_device,  // of one GPU
  to_host,
  from_peer,    // from another GPU's memory into this one's
  device_copy,  // within a GPU's memory

  host_gemm,  // C = A B + C of operands in host memory
  device_gemm,
};
template <>
struct EnumNames<TimedWork> {
  static constexpr std::array value{
      std::pair{TimedWork::start_threads, "start_threads"}, std::pair{TimedWork::start_gpus, "start_gpus"},
      std::pair{TimedWork::device_copy, "device_copy"},     std::pair{TimedWork::stream, "stream"},
      std::pair{TimedWork::host_copy, "host_copy"},         std::pair{TimedWork::pin, "pin"},
      std::pair{TimedWork::to_device, "to_device"},         std::pair{TimedWork::to_host, "to_host"},
      std::pair{TimedWork::from_peer, "from_peer"},         std::pair{TimedWork::host_gemm, "host_gemm"},
      std::pair{TimedWork::device_gemm, "device_gemm"}};
};

// What keeps the machine busy meanwhile, from before the timing begins until after it ends.
enum class Beside : std::uint8_t {
  nothing,
  other_direction,  // the same GPU copies the other way
  all_gpus,         // every GPU copies in the same direction
  transfers,        // every GPU copies in both directions
  host_product,     // the same GPU copies the other way, and the CPU multiplies: m, n and k say what
};
template <>
struct EnumNames<Beside> {
  static constexpr std::array value{
      std::pair{Beside::nothing, "nothing"}, std::pair{Beside::other_direction, "other_direction"},
      std::pair{Beside::all_gpus, "all_gpus"}, std::pair{Beside::transfers, "transfers"},
      std::pair{Beside::host_product, "host_product"}};
};

struct Experiment {
  TimedWork work = TimedWork::host_gemm;
  Beside beside = Beside::nothing;
  int gpu = -1;        // position among the machine's; -1: of the host alone
  int peer = -1;       // the other GPU
  bool pinned = true;  // memory of the host that is copied from or to
  int threads = 0;     // 0: of products, as the library takes them
  std::int64_t bytes = 0;
  std::int64_t pieces = 0;  // that the bytes of a transfer lie in, `pitch_bytes` apart; 0: one
  DType dtype = DType::f64;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t in_a_row = 0;  // products, on a GPU that rested before; 0: one, as it comes

  bool is_gemm() const { return work == TimedWork::host_gemm || work == TimedWork::device_gemm; }
  double products() const {
    return double(m) * double(n) * double(k) * double(std::max<std::int64_t>(in_a_row, 1));
  }
  friend bool operator==(const Experiment&, const Experiment&) = default;
};

template <>
struct FieldList<Experiment> {
  using E = Experiment;
  static constexpr auto value = std::make_tuple(
      field("work", &E::work), field("beside", &E::beside), field("gpu", &E::gpu), field("peer", &E::peer),
      field("pinned", &E::pinned), field("threads", &E::threads), field("bytes", &E::bytes),
      field("pieces", &E::pieces), field("dtype", &E::dtype), field("m", &E::m), field("n", &E::n),
      field("k", &E::k), field("in_a_row", &E::in_a_row));
};

// "to_device gpu 0 pinned 64 MiB beside other_direction", "host_gemm f64 1024x128x1024"; no two experiments
// share one.
std::string to_string(const Experiment& experiment);

// From the beginning of one piece to that of the next, on both sides: as the columns of a large matrix, so
// that each piece is in other pages than the one before, and all of them reach beyond caches.
constexpr std::int64_t pitch_bytes = 256 << 10;

}  // namespace tilewright
