// What is known of a machine's CPU, its GPUs and the ways between their memories: formulas of time whose
// coefficients `tilewright calibrate` fits on the machine (Bernabe 2014, sections 3 to 5) and wisdom keeps as
// fitted models. Without them there are round figures, and the model says so. Nothing here measures or asks a
// device.
//
// The fitted models that a node is put together from (operation "gemm"), their devices and coefficients; a
// transfer or product is an object of the names in its field list below. *_coefficients() write them,
// take_*() read them.
//   transfer     a GPU       to_device, to_host, pageable_to_device, pageable_to_host, from_peer: transfers;
//                            row_s, duplex, together, memory_bytes_per_s and, where they were timed,
//                            together_one_way, together_gpus: numbers
//   gemm_device  a GPU       a product, per dtype, and, where it was timed, sustained: {s_per_product,
//                            late_s_per_product, after_products}
//   gemm_host    the CPU     a product, per dtype, and threads; the model's library is the CBLAS
//   host_copy    the CPU     copies: list of {threads, start_s, s_per_byte}; memory_bytes_per_s and, where it
//                            was timed, register_s_per_byte: numbers
//   pipeline     the CPU     gamma, start_s and, where it was timed, copies_beside: numbers
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/json.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

class Wisdom;

// t = ts + n tw: the time to the first byte, and that of each further one (Bernabe 2014, section 3).
struct TransferTime {
  double start_s = 0, s_per_byte = 0;
  double of(double bytes) const { return bytes > 0 ? start_s + bytes * s_per_byte : 0; }
};

// Time of C = A B + C of m x n x k: t = start + c1 m n k + c2 m n + c3 (m + n) k. Equations 1 and 2 of
// Bernabe 2014 are its case of m = k, equations 7 and 8 that of a fixed k. `waiting_k` makes thin products
// slower than their operations say: they run at k / (k + waiting_k) of the rate of deep ones.
struct GemmTime {
  double start_s = 0, s_per_product = 0, s_per_c = 0, s_per_ab = 0;
  double waiting_k = 0;
  double of(double m, double n, double k) const {
    return m * n * k > 0
               ? start_s + s_per_product * m * n * (k + waiting_k) + s_per_c * m * n + s_per_ab * (m + n) * k
               : 0;
  }
};

// The least that many products in a row take, however large each is: heat and power slow a GPU's clock after
// so many multiplications of elements, and the formula of one product, fitted to all sizes, may promise more
// than the multiprocessors have.
struct SustainedRate {
  double s_per_product = 0, late_s_per_product = 0, after_products = 0;
  // Of what takes so many seconds by the formula.
  double of(double seconds, double products) const {
    const double early = std::min(products, after_products);
    return std::max(seconds, s_per_product * early + late_s_per_product * (products - early));
  }
};

// What GPUs that move data at once leave one another: how many times as long each direction takes while all
// `gpus` of the node use theirs, in one direction or in both.
struct TogetherTime {
  int gpus = 1;
  double one_way = 1, both_ways = 1;
  // While the directions in use, `into` GPUs and `out` of them, would each carry so much of what one carries
  // alone: host memory has a rate for each of them and one for both.
  double slower(double into, double out, double duplex) const {
    return std::max(
        {1.0, std::max(into, out) * one_way / gpus, (into + out) * duplex * both_ways / (2 * gpus)});
  }
  // While so many GPUs copy both ways.
  double slower(std::size_t busy, double duplex) const {
    return slower(double(busy) / duplex, double(busy) / duplex, duplex);
  }
};

// Copies from pageable into pinned memory, and back, by so many threads.
struct HostCopyTime {
  int threads = 1;
  TransferTime time;
};

constexpr std::size_t dtype_count = 4;  // DType is the position

struct HostModel {
  int threads = 1;  // of the CBLAS
  std::array<GemmTime, dtype_count> gemm;
  std::vector<HostCopyTime> copies;  // in the order of threads; never empty
  double register_s_per_byte = 0;    // of pinning pageable memory as it lies
  double memory_bytes_per_s = 0;     // that copies of all GPUs and the CPU's product share
  // What share of the time that GPUs copy the CPU's product loses: gamma of equation 6.
  double gamma = 0;
  // How many times as long transfers take while the CPU multiplies.
  double copies_beside = 1;
  double stream_start_s = 0;  // until a GPU's first copy begins: threads, buffers, the first launches

  // Between two timed numbers of threads in proportion, beyond them as the nearest.
  TransferTime copy_by(int copy_threads) const;
};

struct GpuModel {
  std::string name;
  std::int64_t memory_bytes = 0;                      // the device's own say takes its place
  TransferTime to_device, to_host;                    // from and to pinned memory, alone
  TransferTime pageable_to_device, pageable_to_host;  // by the driver's own staging
  double row_s = 0;                        // of each column of a copied block with gaps of pages between them
  double duplex = 1;                       // how many times as long each direction takes beside the other
  double memory_bytes_per_s = 0;           // of the GPU's own memory
  TransferTime from_peer;                  // from another GPU of the node; s_per_byte 0: no direct way
  std::array<GemmTime, dtype_count> gemm;  // of operands in its memory, whichever way the plan takes
  std::array<SustainedRate, dtype_count> sustained;
};

struct NodeModel {
  HostModel host;
  std::vector<GpuModel> gpus;
  TogetherTime together;
  bool calibrated = false;  // else some of it are round figures
  std::string source;       // of the coefficients, in words, for explain
};

// Round figures of a current node: enough to choose between far apart ways, and marked as such.
NodeModel usual_node(int host_threads, const std::vector<std::string>& gpu_names);

// The fitted models that serve this host and these GPUs; what is missing is taken from the round figures.
// `host` is the CPU's name as records have it, `blas` names the library that its products were timed with.
NodeModel node_model(const Wisdom* wisdom, const std::string& host, const std::string& blas, int host_threads,
                     const std::vector<std::string>& gpu_names);

inline constexpr const char* transfer_model = "transfer";
inline constexpr const char* gemm_device_model = "gemm_device";
inline constexpr const char* gemm_host_model = "gemm_host";
inline constexpr const char* host_copy_model = "host_copy";
inline constexpr const char* pipeline_model = "pipeline";

// What calibrate writes, and the reverse. take_*() throw Error(invalid_argument) naming the coefficient that
// is missing, no number, or below what it can be, and leave the target as it was.
nlohmann::json transfer_coefficients(const GpuModel& gpu, const TogetherTime& together);
void take_transfer(const nlohmann::json& coefficients, GpuModel& gpu, TogetherTime& together);
nlohmann::json gemm_device_coefficients(const GemmTime& time, const SustainedRate& sustained = {});
void take_gemm_device(const nlohmann::json& coefficients, GemmTime& time, SustainedRate& sustained);
nlohmann::json gemm_host_coefficients(const GemmTime& time, int threads);
// For so many threads: those of a product timed with another number go in proportion.
GemmTime take_gemm_host(const nlohmann::json& coefficients, int threads);
nlohmann::json host_copy_coefficients(const HostModel& host);
void take_host_copy(const nlohmann::json& coefficients, HostModel& host);
nlohmann::json pipeline_coefficients(const HostModel& host);
void take_pipeline(const nlohmann::json& coefficients, HostModel& host);

template <>
struct FieldList<TransferTime> {
  using T = TransferTime;
  static constexpr auto value =
      std::make_tuple(field("start_s", &T::start_s), field("s_per_byte", &T::s_per_byte));
};
template <>
struct FieldList<TogetherTime> {
  using T = TogetherTime;
  static constexpr auto value = std::make_tuple(field("gpus", &T::gpus), field("one_way", &T::one_way),
                                                field("both_ways", &T::both_ways));
};
template <>
struct FieldList<SustainedRate> {
  using T = SustainedRate;
  static constexpr auto value = std::make_tuple(field("s_per_product", &T::s_per_product),
                                                field("late_s_per_product", &T::late_s_per_product),
                                                field("after_products", &T::after_products));
};
template <>
struct FieldList<GemmTime> {
  using T = GemmTime;
  static constexpr auto value = std::make_tuple(
      field("start_s", &T::start_s), field("s_per_product", &T::s_per_product), field("s_per_c", &T::s_per_c),
      field("s_per_ab", &T::s_per_ab), field("waiting_k", &T::waiting_k));
};

}  // namespace tilewright
