// A product streamed through simulated GPUs: operands with guards around them, a node of small GPUs, and the
// comparison with the reference. Elements are small integers, so that every sum is exact in every order.
#pragma once

#include <gtest/gtest.h>

#include "core/dispatch.hpp"
#include "gemm/hybrid/split/shares.hpp"
#include "gemm/hybrid/stream/stream_job.hpp"
#include "simulated/simulated_device.hpp"
#include "support/operands.hpp"

namespace tilewright::testing {

inline NodeModel small_node(int gpus, bool peers = true, std::int64_t memory_bytes = std::int64_t(1) << 30) {
  NodeModel node = default_node(4, std::vector<std::string>(std::size_t(gpus), "Sim"));
  node.host.stream_start_s = 0;  // of which devices know nothing
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    node.gpus[i].name += std::to_string(i);
    node.gpus[i].memory_bytes = memory_bytes;
    if (peers) node.gpus[i].from_peer = {5e-6, 1 / 400e9};
  }
  return node;
}

// The implementation that multiplies on simulated GPUs and on the host: the reference, which knows host
// memory alone.
inline void multiply_on_host(const GemmProblem& problem, const Operands& operands) {
  GemmProblem p = problem;
  p.location = Location::host;
  gemm_reference(p, operands);
}

inline GemmProblem host_product(DType dtype, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                                Scalar beta, std::int64_t padding = 3) {
  GemmProblem p;
  p.dtype = dtype, p.op_a = op_a, p.op_b = op_b, p.m = m, p.n = n, p.k = k;
  p.alpha = Scalar::general, p.beta = beta;
  p.lda = p.a_rows() + padding, p.ldb = p.b_rows() + padding, p.ldc = p.m + padding;
  return p;
}

struct SimulatedCall {
  GemmProblem problem;
  Split split;
  NodeModel node;
  std::vector<SimulatedFaults> faults;  // by GPU; of those left out: none
  bool pinned = true;
  bool redo_on_host = false;
};

struct SimulatedResult {
  StreamReport report;
  std::string error;  // that was thrown
  ErrorCode code = ErrorCode::ok;
  bool is_right = false;        // every element and every guard
  std::int64_t wrong = 0;       // columns of C that are not as they must be
  std::vector<double> seconds;  // by each GPU's own clock
  std::vector<std::int64_t> most_bytes, bytes_in;
  std::vector<int> operations;
  std::vector<unsigned char> c;  // as it lies, guards included
};

template <class T>
std::int64_t wrong_columns(const GemmProblem& p, const std::vector<T>& c, const std::vector<T>& expected) {
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < p.n; ++j) {
    const auto first = c.begin() + j * p.ldc;
    wrong += !std::equal(first, first + p.m, expected.begin() + j * p.ldc);
  }
  return wrong;
}

inline SimulatedResult run_simulated(const SimulatedCall& call, unsigned seed = 1) {
  SimulatedResult result;
  dispatch(call.problem.dtype, [&]<class T>() {
    TestOperands<T> operands(call.problem, seed);
    const std::vector<T> expected = operands.expected();
    SimulatedNode node(call.node, multiply_on_host);
    std::vector<SimulatedDevice*> simulated;
    std::vector<StreamDevice*> devices;
    for (std::size_t i = 0; i < call.node.gpus.size(); ++i) {
      simulated.push_back(&node.device(int(i), i < call.faults.size() ? call.faults[i] : SimulatedFaults{}));
      devices.push_back(simulated.back());
    }
    const std::vector<StreamSchedule> schedules = schedules_on(devices, call.problem, call.split);
    StreamJob job{call.problem, operands.operands(), call.split, devices, schedules};
    if (call.pinned) job.pinned = all_matrices;
    job.multiply_on_host = multiply_on_host, job.redo_on_host = call.redo_on_host;
    job.multiply_range_on_host = [&](std::int64_t first, std::int64_t count) {
      gemm_reference(call.problem, operands.operands(), first, count);
    };
    if (call.pinned)
      for (const auto* matrix : {&operands.a, &operands.b, &operands.c})
        node.pin(matrix->data(), std::int64_t(matrix->size() * sizeof(T)));
    try {
      result.report = stream_gemm(job);
    } catch (const Error& error) {
      result.error = error.what(), result.code = error.code();
    }
    result.is_right = TestOperands<T>::same(operands.c, expected);
    result.wrong = wrong_columns(call.problem, operands.c, expected);
    for (const SimulatedDevice* device : simulated) {
      result.seconds.push_back(device->seconds());
      result.most_bytes.push_back(device->most_bytes());
      result.bytes_in.push_back(device->bytes_in());
      result.operations.push_back(device->operations());
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(operands.c.data());
    result.c.assign(bytes, bytes + operands.c.size() * sizeof(T));
  });
  return result;
}

}  // namespace tilewright::testing
