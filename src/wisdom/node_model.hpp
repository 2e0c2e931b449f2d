// The model of a node: formulas for the times of its CPU, its GPUs and the transfers between their memories.
// `tilewright calibrate` fits their coefficients (Bernabe 2014, sections 3 to 5) and wisdom keeps them as
// fitted models; round figures replace missing ones, and the model says so.
//
// The fitted models (operation "gemm"), their devices and coefficients; a transfer or product is an object
// with the names of its field list below. *_coefficients() write them, take_*() read them.
//   transfer     a GPU       to_device, to_host, pageable_to_device, pageable_to_host, from_peer: transfers;
//                            row_s, duplex, together, memory_bytes_per_s and, if they were timed,
//                            together_one_way, together_gpus: numbers
//   gemm_device  a GPU       a product, per dtype, and, if it was timed, sustained: {s_per_product,
//                            late_s_per_product, after_products}
//   gemm_host    the CPU     a product, per dtype, and threads; the model's library is the CBLAS
//   host_copy    the CPU     copies: list of {threads, start_s, s_per_byte}; memory_bytes_per_s and, if it
//                            was timed, register_s_per_byte: numbers
//   pipeline     the CPU     gamma, start_s and, if it was timed, copies_beside: numbers
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

// t = ts + n tw: latency and the time of each byte (Bernabe 2014, section 3).
struct TransferTime {
  double start_s = 0, s_per_byte = 0;
  double of(double bytes) const { return bytes > 0 ? start_s + bytes * s_per_byte : 0; }
};

// Time of C = A B + C of m x n x k: t = start + c1 m n k + c2 m n + c3 (m + n) k. Equations 1 and 2 of
// Bernabe 2014 are its case m = k, equations 7 and 8 that of a fixed k. Thin products run at k / (k +
// waiting_k) of the rate of deep ones.
struct GemmTime {
  double start_s = 0, s_per_product = 0, s_per_c = 0, s_per_ab = 0;
  double waiting_k = 0;
  double of(double m, double n, double k) const {
    return m * n * k > 0
               ? start_s + s_per_product * m * n * (k + waiting_k) + s_per_c * m * n + s_per_ab * (m + n) * k
               : 0;
  }
};

// A lower bound of the time of consecutive products: heat and power slow a GPU's clock after `after_products`
// multiply-adds, and the formula of one product, fitted to all sizes, may exceed the peak rate.
struct SustainedRate {
  double s_per_product = 0, late_s_per_product = 0, after_products = 0;
  // `seconds`: by the formula.
  double of(double seconds, double products) const {
    const double early = std::min(products, after_products);
    return std::max(seconds, s_per_product * early + late_s_per_product * (products - early));
  }
};

// Slowdown of transfers, per direction, while all `gpus` of the node transfer in one direction or both.
struct TogetherTime {
  int gpus = 1;
  double one_way = 1, both_ways = 1;
  // With `into` GPUs loading one direction and `out` the other: host memory has rates for each and both.
  double slower(double into, double out, double duplex) const {
    return std::max(
        {1.0, std::max(into, out) * one_way / gpus, (into + out) * duplex * both_ways / (2 * gpus)});
  }
  // While `busy` GPUs copy both ways.
  double slower(std::size_t busy, double duplex) const {
    return slower(double(busy) / duplex, double(busy) / duplex, duplex);
  }
};

// Copies between pageable and pinned memory by `threads` threads.
struct HostCopyTime {
  int threads = 1;
  TransferTime time;
};

constexpr std::size_t dtype_count = 4;  // DType is the position

struct HostModel {
  int threads = 1;  // of the CBLAS
  std::array<GemmTime, dtype_count> gemm;
  std::vector<HostCopyTime> copies;  // in the order of threads; never empty
  double register_s_per_byte = 0;    // of pinning pageable memory
  double memory_bytes_per_s = 0;     // shared by copies of all GPUs and the CPU's product
  // The fraction of the GPUs' copy time that the CPU's product loses: gamma of equation 6.
  double gamma = 0;
  // The slowdown of transfers while the CPU multiplies.
  double copies_beside = 1;
  double stream_start_s = 0;  // until a GPU's first copy begins: threads, buffers, the first launches

  // Interpolates between the timed numbers of threads; beyond them the nearest counts.
  TransferTime copy_by(int copy_threads) const;
};

struct GpuModel {
  std::string name;
  std::int64_t memory_bytes = 0;                      // replaced by the device's own
  TransferTime to_device, to_host;                    // from and to pinned memory, alone
  TransferTime pageable_to_device, pageable_to_host;  // staged by the driver
  double row_s = 0;               // of each column of a copied block with gaps of pages between columns
  double duplex = 1;              // slowdown of each direction beside the other
  double memory_bytes_per_s = 0;  // of the GPU's own memory
  TransferTime from_peer;         // from another GPU of the node; s_per_byte 0: no direct path
  std::array<GemmTime, dtype_count> gemm;  // of operands in its memory
  std::array<SustainedRate, dtype_count> sustained;
};

struct NodeModel {
  HostModel host;
  std::vector<GpuModel> gpus;
  TogetherTime together;
  bool calibrated = false;  // false: some coefficients are round figures
  std::string source;       // of the coefficients, for explain
};

// Round figures of a current node: good enough to choose between plans that differ much.
NodeModel default_node(int host_threads, const std::vector<std::string>& gpu_names);

// The fitted models of this host and these GPUs, with round figures for missing ones. `host`: the CPU's name
// as in records; `blas`: the library that its products were timed with.
NodeModel node_model(const Wisdom* wisdom, const std::string& host, const std::string& blas, int host_threads,
                     const std::vector<std::string>& gpu_names);

inline constexpr const char* transfer_model = "transfer";
inline constexpr const char* gemm_device_model = "gemm_device";
inline constexpr const char* gemm_host_model = "gemm_host";
inline constexpr const char* host_copy_model = "host_copy";
inline constexpr const char* pipeline_model = "pipeline";

// take_*() throw Error(invalid_argument) naming a coefficient that is missing, not a number or too small, and
// leave the target unchanged.
nlohmann::json transfer_coefficients(const GpuModel& gpu, const TogetherTime& together);
void take_transfer(const nlohmann::json& coefficients, GpuModel& gpu, TogetherTime& together);
nlohmann::json gemm_device_coefficients(const GemmTime& time, const SustainedRate& sustained = {});
void take_gemm_device(const nlohmann::json& coefficients, GemmTime& time, SustainedRate& sustained);
// Scales a product timed with another number of threads in proportion.
GemmTime take_gemm_host(const nlohmann::json& coefficients, int threads);
nlohmann::json host_copy_coefficients(const HostModel& host);
void take_host_copy(const nlohmann::json& coefficients, HostModel& host);
nlohmann::json pipeline_coefficients(const HostModel& host);
void take_pipeline(const nlohmann::json& coefficients, HostModel& host);

TILEWRIGHT_FIELDS(TransferTime, start_s, s_per_byte);
TILEWRIGHT_FIELDS(TogetherTime, gpus, one_way, both_ways);
TILEWRIGHT_FIELDS(SustainedRate, s_per_product, late_s_per_product, after_products);
TILEWRIGHT_FIELDS(GemmTime, start_s, s_per_product, s_per_c, s_per_ab, waiting_k);

}  // namespace tilewright
