// Makes a node from fitted models, or round figures without them; reads and writes their coefficients.
#include "wisdom/node_model.hpp"

#include <cmath>

#include "wisdom/wisdom.hpp"

namespace tilewright {
namespace {

const nlohmann::json& required(const nlohmann::json& object, const std::string& name) {
  if (const auto it = object.is_object() ? object.find(name) : object.end(); it != object.end()) return *it;
  throw Error(ErrorCode::invalid_argument, name, fmt::format("coefficient '{}' is missing", name));
}

// A number of a model, of at least `least`.
double number(const nlohmann::json& object, const std::string& name, double least = 0) {
  const nlohmann::json& value = required(object, name);
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < least)
    throw Error(
        ErrorCode::invalid_argument, name,
        fmt::format("coefficient '{}' = {} is not a number of at least {}", name, value.dump(), least));
  return value.get<double>();
}
// A factor of at least 1 that older models lack.
double number_or(const nlohmann::json& object, const std::string& name, double otherwise) {
  return object.contains(name) ? number(object, name, 1) : otherwise;
}

// A struct of numbers alone, all of which must be there.
template <class S>
S numbers(const nlohmann::json& object) {
  S result;
  for_each_field<S>([&](const auto& f) { result.*(f.member) = number(object, f.name); });
  return result;
}

// The coefficients of the model "transfer", and the least value of each number.
constexpr std::pair<const char*, TransferTime GpuModel::*> transfers_of_gpu[] = {
    {"to_device", &GpuModel::to_device},
    {"to_host", &GpuModel::to_host},
    {"pageable_to_device", &GpuModel::pageable_to_device},
    {"pageable_to_host", &GpuModel::pageable_to_host},
    {"from_peer", &GpuModel::from_peer}};
constexpr std::tuple<const char*, double GpuModel::*, double> numbers_of_gpu[] = {
    {"row_s", &GpuModel::row_s, 0},
    {"duplex", &GpuModel::duplex, 1},
    {"memory_bytes_per_s", &GpuModel::memory_bytes_per_s, 1}};

// Operations of one product of elements, of which a rate counts.
double flops_of(DType dtype) { return is_complex(dtype) ? 8 : 2; }
bool is_double(DType dtype) { return dtype == DType::f64 || dtype == DType::c128; }

GemmTime default_gemm_time(DType dtype, double flops_per_s, double start_s, double waiting_k) {
  return {.start_s = start_s, .s_per_product = flops_of(dtype) / flops_per_s, .waiting_k = waiting_k};
}

TransferTime default_transfer(double bytes_per_s, double start_s) { return {start_s, 1 / bytes_per_s}; }

constexpr double default_host_flops_per_thread = 35e9;  // f64
// The rate of deep and wide products on a GPU, of any type; k = 100, or 64 columns, reach half of it.
constexpr double default_gpu_flops = 60e12;
constexpr double default_waiting_k = 100, default_waiting_columns = 64;

}  // namespace

TransferTime HostModel::copy_by(int copy_threads) const {
  if (copies.empty()) return {};
  if (copy_threads <= copies.front().threads) {
    // Fewer than were timed: each has a thread's part of the rate.
    TransferTime time = copies.front().time;
    time.s_per_byte *= double(copies.front().threads) / std::max(1, copy_threads);
    return time;
  }
  for (std::size_t i = 1; i < copies.size(); ++i) {
    const HostCopyTime &below = copies[i - 1], &above = copies[i];
    if (copy_threads > above.threads) continue;
    const double part = double(copy_threads - below.threads) / (above.threads - below.threads);
    const auto between = [part](double x, double y) { return x + part * (y - x); };
    return {between(below.time.start_s, above.time.start_s),
            1 / between(1 / below.time.s_per_byte, 1 / above.time.s_per_byte)};
  }
  return copies.back().time;
}

NodeModel default_node(int host_threads, const std::vector<std::string>& gpu_names) {
  NodeModel node;
  HostModel& host = node.host;
  host.threads = std::max(1, host_threads);
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const DType dtype = DType(i);
    const double rate = default_host_flops_per_thread * host.threads * (is_double(dtype) ? 1 : 2);
    host.gemm[i] = default_gemm_time(dtype, rate, host.threads > 1 ? 10e-6 : 1e-6, 8);
    // C is read and written once, by which thin products are slower.
    host.gemm[i].s_per_c = 2 * double(size_bytes(dtype)) / 250e9;
  }
  host.copies = {{1, default_transfer(13.4e9, 1e-6)},
                 {4, default_transfer(42e9, 5e-6)},
                 {16, default_transfer(51e9, 10e-6)}};
  host.register_s_per_byte = 0.057 / double(1 << 30);
  host.memory_bytes_per_s = 110e9;
  host.gamma = 0.1;
  host.copies_beside = 1.1;
  host.stream_start_s = 60e-6;
  for (const std::string& name : gpu_names) {
    GpuModel gpu;
    gpu.name = name;
    gpu.memory_bytes = std::int64_t(16) << 30;
    gpu.to_device = gpu.to_host = default_transfer(55e9, 8e-6);
    gpu.pageable_to_device = default_transfer(10e9, 15e-6);
    gpu.pageable_to_host = default_transfer(17e9, 15e-6);
    gpu.row_s = 120e-9;
    gpu.duplex = 1.13;
    gpu.memory_bytes_per_s = 2e12;
    // Without having been measured, other GPUs are taken to be out of reach: both ways are right.
    for (std::size_t i = 0; i < dtype_count; ++i) {
      gpu.gemm[i] = default_gemm_time(DType(i), default_gpu_flops, 10e-6, default_waiting_k);
      gpu.gemm[i].s_per_ab = default_waiting_columns * gpu.gemm[i].s_per_product;
    }
    node.gpus.push_back(gpu);
  }
  if (gpu_names.size() > 1) node.together = {int(gpu_names.size()), 1, 1.22};
  node.source = "round figures of a current node; `tilewright calibrate` measures this one";
  return node;
}

nlohmann::json transfer_coefficients(const GpuModel& gpu, const TogetherTime& together) {
  nlohmann::json all{{"together", together.both_ways},
                     {"together_one_way", together.one_way},
                     {"together_gpus", together.gpus}};
  for (const auto& [name, member] : transfers_of_gpu) all[name] = to_json(gpu.*member);
  for (const auto& [name, member, least] : numbers_of_gpu) all[name] = gpu.*member;
  return all;
}

void take_transfer(const nlohmann::json& coefficients, GpuModel& gpu, TogetherTime& together) {
  GpuModel read = gpu;
  TogetherTime shared = together;
  for (const auto& [name, member] : transfers_of_gpu)
    read.*member = numbers<TransferTime>(required(coefficients, name));
  for (const auto& [name, member, least] : numbers_of_gpu) read.*member = number(coefficients, name, least);
  shared.both_ways = number(coefficients, "together", 1);
  // Older models have no time of one direction by all GPUs.
  constexpr double most_gpus = 1024;
  shared.one_way = number_or(coefficients, "together_one_way", 1);
  shared.gpus = int(std::min(most_gpus, number_or(coefficients, "together_gpus", shared.gpus)));
  gpu = read, together = shared;
}

nlohmann::json gemm_device_coefficients(const GemmTime& time, const SustainedRate& sustained) {
  nlohmann::json coefficients = to_json(time);
  if (sustained.late_s_per_product > 0) coefficients["sustained"] = to_json(sustained);
  return coefficients;
}

void take_gemm_device(const nlohmann::json& coefficients, GemmTime& time, SustainedRate& sustained) {
  SustainedRate read;
  // Older models contain a factor on the formula, which cannot be compared with it.
  if (coefficients.contains("sustained") && !coefficients["sustained"].contains("factor"))
    read = numbers<SustainedRate>(coefficients["sustained"]);
  time = numbers<GemmTime>(coefficients), sustained = read;
}

GemmTime take_gemm_host(const nlohmann::json& coefficients, int threads) {
  GemmTime time = numbers<GemmTime>(coefficients);
  const double ratio = number(coefficients, "threads", 1) / std::max(1, threads);
  time.s_per_product *= ratio, time.s_per_c *= ratio, time.s_per_ab *= ratio;
  return time;
}

nlohmann::json host_copy_coefficients(const HostModel& host) {
  nlohmann::json copies = nlohmann::json::array();
  for (const HostCopyTime& copy : host.copies) {
    copies.push_back(to_json(copy.time));
    copies.back()["threads"] = copy.threads;
  }
  return {{"copies", copies},
          {"register_s_per_byte", host.register_s_per_byte},
          {"memory_bytes_per_s", host.memory_bytes_per_s}};
}

void take_host_copy(const nlohmann::json& coefficients, HostModel& host) {
  HostModel read = host;
  // Nothing was pinned where there was no GPU to pin it for.
  if (coefficients.contains("register_s_per_byte"))
    read.register_s_per_byte = number(coefficients, "register_s_per_byte");
  read.memory_bytes_per_s = number(coefficients, "memory_bytes_per_s", 1);
  read.copies.clear();
  const auto it = coefficients.find("copies");
  if (it == coefficients.end() || !it->is_array() || it->empty())
    throw Error(ErrorCode::invalid_argument, "copies", "coefficient 'copies' is not a list, or it is empty");
  for (const nlohmann::json& copy : *it) {
    HostCopyTime time;
    time.threads = int(number(copy, "threads", 1));
    time.time = numbers<TransferTime>(copy);
    if (time.time.s_per_byte <= 0 || (!read.copies.empty() && time.threads <= read.copies.back().threads))
      throw Error(
          ErrorCode::invalid_argument, "copies",
          fmt::format("coefficient 'copies': {} is out of order of threads or has no rate", copy.dump()));
    read.copies.push_back(time);
  }
  host = read;
}

nlohmann::json pipeline_coefficients(const HostModel& host) {
  return {{"gamma", host.gamma}, {"start_s", host.stream_start_s}, {"copies_beside", host.copies_beside}};
}
void take_pipeline(const nlohmann::json& coefficients, HostModel& host) {
  const double gamma = number(coefficients, "gamma");
  if (gamma > 1)
    throw Error(ErrorCode::invalid_argument, "gamma",
                fmt::format("coefficient 'gamma' = {} is more than 1", gamma));
  const double beside = number_or(coefficients, "copies_beside", host.copies_beside);
  host.stream_start_s = number(coefficients, "start_s");
  host.gamma = gamma, host.copies_beside = beside;
}

namespace {

// Columns of matrices that nothing has read for long take so much at least; calibration's own, which caches
// of pages know, take half (docs/notebook.md).
constexpr double least_row_s = 100e-9;

// Takes what wisdom has, and keeps count of what it has not.
class Assembly {
 public:
  explicit Assembly(const Wisdom* wisdom) : wisdom_(wisdom) {}

  // `take` is given the coefficients of the device's own model, of the library where one is named.
  template <class F>
  void read(const char* model, const std::string& device, const std::string& dtype,
            const std::string& library, F&& take) {
    ModelQuery query;
    query.model = model, query.device = device, query.dtype = dtype, query.library = library;
    const auto found = wisdom_ == nullptr || device.empty() ? nullptr : wisdom_->model(query);
    const std::string what =
        fmt::format("{}{}{} of {}", model, dtype.empty() ? "" : " ", dtype, device.empty() ? "?" : device);
    if (found == nullptr || (!library.empty() && found->model.library != library)) return missing(what, "");
    try {
      take(found->model.coefficients);
      latest_ = std::max(latest_, found->model.time);
    } catch (const std::exception& error) {
      missing(what, fmt::format(" ({}: {})", found->model.source, error.what()));
    }
  }

  void finish(NodeModel& node) const {
    node.calibrated = missing_.empty();
    if (latest_.empty()) return;  // the round figures' own words stand
    node.source = fmt::format("models fitted until {}", latest_);
    if (!missing_.empty()) node.source += "; round figures for " + missing_;
  }

 private:
  void missing(const std::string& what, const std::string& reason) {
    missing_ += (missing_.empty() ? "" : ", ") + what + reason;
  }

  const Wisdom* wisdom_;
  std::string missing_, latest_;
};

}  // namespace

NodeModel node_model(const Wisdom* wisdom, const std::string& host, const std::string& blas, int host_threads,
                     const std::vector<std::string>& gpu_names) {
  NodeModel node = default_node(host_threads, gpu_names);
  Assembly assembly(wisdom);
  const auto each_dtype = [](auto&& f) {
    for (std::size_t i = 0; i < dtype_count; ++i) f(i, to_string(DType(i)));
  };
  each_dtype([&](std::size_t i, const std::string& dtype) {
    assembly.read(gemm_host_model, host, dtype, blas,
                  [&](const auto& c) { node.host.gemm[i] = take_gemm_host(c, node.host.threads); });
  });
  assembly.read(host_copy_model, host, "", "", [&](const auto& c) { take_host_copy(c, node.host); });
  if (!gpu_names.empty())
    assembly.read(pipeline_model, host, "", "", [&](const auto& c) { take_pipeline(c, node.host); });
  TogetherTime together = node.together;
  together.one_way = together.both_ways = 1;
  for (GpuModel& gpu : node.gpus) {
    TogetherTime of_this = node.together;
    assembly.read(transfer_model, gpu.name, "", "", [&](const auto& c) { take_transfer(c, gpu, of_this); });
    gpu.row_s = std::max(gpu.row_s, least_row_s);
    if (of_this.both_ways >= together.both_ways) std::swap(together, of_this);
    together.one_way = std::max(together.one_way, of_this.one_way);
    each_dtype([&](std::size_t i, const std::string& dtype) {
      assembly.read(gemm_device_model, gpu.name, dtype, "",
                    [&](const auto& c) { take_gemm_device(c, gpu.gemm[i], gpu.sustained[i]); });
    });
  }
  node.together = together;
  assembly.finish(node);
  return node;
}

}  // namespace tilewright
