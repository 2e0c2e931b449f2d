// The models of transfers, host copies, the pipeline and products, and the records of all of them. Products
// have the general form that splits are computed with and the two of Bernabe 2014, whose coefficients keep
// the paper's names: k1 m^2 n + k2 m^2 + k3 m (equations 1, 2) and k1 m n b + k2 m b + k3 m (equations 7, 8).
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "core/date.hpp"
#include "core/estimate.hpp"
#include "core/quantity.hpp"
#include "tune/calibrate/calibration.hpp"
#include "wisdom/node_model.hpp"

namespace tilewright {
namespace {

// The paper has no smaller sizes, and its formulas no term for the start of a product.
constexpr std::int64_t least_m = 512;

template <class F>
std::vector<Experiment> chosen(const std::vector<Experiment>& all, F&& is_of) {
  std::vector<Experiment> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some), is_of);
  return some;
}

TransferTime transfer_of(const FittedPart& part) {
  return {part.fit.coefficients[0], part.fit.coefficients[1]};
}

// Ignores the GPU: GPUs that share a model count as one.
auto is_like(const Experiment& kind) {
  return [kind](const Experiment& e) {
    return e.work == kind.work && e.beside == kind.beside && e.pinned == kind.pinned &&
           e.threads == kind.threads && e.pieces == 0;
  };
}

Experiment kind_of(TimedWork work, bool pinned = true, Beside beside = Beside::nothing, int threads = 0) {
  Experiment e;
  e.work = work, e.pinned = pinned, e.beside = beside, e.threads = threads;
  return e;
}

// t = ts + n tw (Bernabe 2014, section 3).
const FittedPart* add_linear(FittedTask& to, const std::string& name, const CalibrationTask& task,
                             const Experiment& kind, const Timings& timings) {
  const auto terms = [](const Experiment& e) { return std::vector<double>{1, double(e.bytes)}; };
  return add_fit(to, {name, {"start_s", "s_per_byte"}, terms}, chosen(task.installation, is_like(kind)),
                 timings);
}

// t of the experiments = factor x t of the same ones with the load `without`.
const FittedPart* add_factor(FittedTask& to, const std::string& name, const std::vector<Experiment>& busy,
                             Beside without, const Timings& timings) {
  const auto seconds_without = [&](Experiment e) {
    e.beside = without;
    e.m = e.n = e.k = 0, e.dtype = DType::f64;
    const TimedPoint* point = timings.find(e);
    return point == nullptr ? 0 : point->seconds;
  };
  const auto both = chosen(busy, [&](const Experiment& e) { return seconds_without(e) > 0; });
  return add_fit(
      to, {name, {"factor"}, [&](const Experiment& e) { return std::vector<double>{seconds_without(e)}; }},
      both, timings);
}

double factor_of(const FittedPart* part) {
  return part == nullptr ? 1 : std::max(1.0, part->fit.coefficients[0]);
}

// Fits rows that are no plain experiments. Null, with the note, if they are too few.
const FittedPart* add_rows(FittedTask& to, FittedPart part, const std::vector<LeastSquaresRow>& rows,
                           const char* note) {
  if (rows.size() <= part.terms.size()) {
    to.notes.push_back(note);
    return nullptr;
  }
  part.fit = least_squares(rows);
  to.parts.push_back(std::move(part));
  return &to.parts.back();
}

// A row of one time as a multiple of another. False if one of the two was not timed.
bool add_row(std::vector<LeastSquaresRow>& rows, const TimedPoint* value, const TimedPoint* term) {
  if (value == nullptr || term == nullptr) return false;
  rows.push_back({{term->seconds}, value->seconds, std::hypot(value->spread, term->spread)});
  return true;
}

// A transfer in pieces takes the time of a contiguous one, or a little more, and a time per piece.
void add_pieces(FittedTask& to, const CalibrationTask& task, const Timings& timings, double& piece_s) {
  std::vector<LeastSquaresRow> rows;
  for (Experiment e : task.installation) {
    if (e.pieces == 0) continue;
    const auto pieces = double(e.pieces);
    const TimedPoint* apart = timings.find(e);
    e.pieces = 0;
    if (add_row(rows, apart, timings.find(e))) rows.back().terms.push_back(pieces);
  }
  if (const FittedPart* part =
          add_rows(to, {"row_s", {"whole", "s_per_piece"}, {}, false}, rows,
                   "row_s: too few transfers in pieces were timed, so pieces are modelled as a whole"))
    piece_s = part->fit.coefficients[1];
}

// The notes say why.
FittedTask left_unfitted(FittedTask fitted) {
  fitted.parts.clear();
  return fitted;
}

// `gpus`: the number of the machine's GPUs, of any name: all of them ran in the experiments beside all GPUs.
FittedTask fit_transfers(const CalibrationTask& task, const Timings& timings, int gpus) {
  FittedTask fitted;
  GpuModel gpu;
  TogetherTime together;
  struct Direction {
    const char* name;
    TransferTime GpuModel::*time;
    TimedWork work;
    bool pinned, is_needed;
  };
  std::vector<std::pair<Experiment, TransferTime>> times;
  for (const Direction& direction :
       {Direction{"to_device", &GpuModel::to_device, TimedWork::to_device, true, true},
        Direction{"to_host", &GpuModel::to_host, TimedWork::to_host, true, true},
        Direction{"pageable_to_device", &GpuModel::pageable_to_device, TimedWork::to_device, false, true},
        Direction{"pageable_to_host", &GpuModel::pageable_to_host, TimedWork::to_host, false, true},
        Direction{"from_peer", &GpuModel::from_peer, TimedWork::from_peer, true, false}}) {
    const Experiment kind = kind_of(direction.work, direction.pinned);
    if (const FittedPart* part = add_linear(fitted, direction.name, task, kind, timings))
      gpu.*direction.time = transfer_of(*part);
    else if (direction.is_needed)
      return left_unfitted(fitted);
    times.emplace_back(kind, gpu.*direction.time);
  }
  const auto busy = [&](Beside beside) {
    return chosen(task.installation, [beside](const Experiment& e) { return e.beside == beside; });
  };
  gpu.duplex =
      factor_of(add_factor(fitted, "duplex", busy(Beside::other_direction), Beside::nothing, timings));
  if (const auto shared = busy(Beside::transfers); !shared.empty())
    together.both_ways = factor_of(add_factor(fitted, "together", shared, Beside::other_direction, timings));
  if (const auto one_way = busy(Beside::all_gpus); !one_way.empty())
    together.one_way = factor_of(add_factor(fitted, "together_one_way", one_way, Beside::nothing, timings));
  together.gpus = std::max(1, gpus);
  add_pieces(fitted, task, timings, gpu.row_s);
  const FittedPart* own = add_linear(fitted, "device_copy", task, kind_of(TimedWork::device_copy), timings);
  if (own == nullptr || !(own->fit.coefficients[1] > 0)) return left_unfitted(fitted);
  gpu.memory_bytes_per_s = 2 / own->fit.coefficients[1];  // each byte is read and written
  fitted.coefficients = transfer_coefficients(gpu, together);

  fitted.predict = [times, duplex = gpu.duplex](const Experiment& e) {
    for (const auto& [kind, time] : times)
      if (e.work == kind.work && e.pinned == kind.pinned)
        return time.of(double(e.bytes)) * (e.beside == Beside::other_direction ? duplex : 1);
    return 0.0;
  };
  return fitted;
}

FittedTask fit_host_copies(const CalibrationTask& task, const Timings& timings, int machine_threads) {
  FittedTask fitted;
  HostModel host;
  std::set<int> counts;
  for (const Experiment& e : task.installation)
    if (e.work == TimedWork::host_copy) counts.insert(e.threads);
  for (const int threads : counts) {
    const std::string name = counted(threads, "thread");
    const Experiment kind = kind_of(TimedWork::host_copy, true, Beside::nothing, threads);
    const FittedPart* part = add_linear(fitted, name, task, kind, timings);
    if (part != nullptr && part->fit.coefficients[1] > 0)
      host.copies.push_back({threads, transfer_of(*part)});
  }
  add_linear(fitted, "stream", task, kind_of(TimedWork::stream, true, Beside::nothing, machine_threads),
             timings);
  const double shared = timings.stream_rate(Beside::transfers);
  host.memory_bytes_per_s =
      std::max(timings.stream_rate(Beside::nothing), shared > 0 ? shared + timings.transfer_rate() : 0);
  if (host.copies.empty() || !(host.memory_bytes_per_s > 0)) return left_unfitted(fitted);
  const FittedPart* pinning = add_linear(fitted, "pin", task, kind_of(TimedWork::pin), timings);
  if (pinning != nullptr) host.register_s_per_byte = pinning->fit.coefficients[1];
  fitted.coefficients = host_copy_coefficients(host);
  if (pinning == nullptr) fitted.coefficients.erase("register_s_per_byte");
  const auto starts =
      chosen(task.installation, [](const Experiment& e) { return e.work == TimedWork::start_threads; });
  const auto count = [](const Experiment& e) { return std::vector<double>{1, double(e.threads)}; };
  if (const auto* part =
          add_fit(fitted, {"start_threads", {"start_s", "s_per_thread"}, count}, starts, timings))
    fitted.coefficients["s_per_thread"] = part->fit.coefficients[1];
  fitted.predict = [copies = host.copies](const Experiment& e) {
    for (const HostCopyTime& copy : copies)
      if (copy.threads == e.threads && e.work == TimedWork::host_copy) return copy.time.of(double(e.bytes));
    return 0.0;
  };
  return fitted;
}

// Equation 6: beside transfers the CPU's product takes T + gamma T'. Here T', the transfers' time, is all of
// it: T = (1 - gamma) T'.
bool add_gamma(FittedTask& to, const CalibrationTask& task, const Timings& timings, double& gamma) {
  std::vector<LeastSquaresRow> rows;
  for (Experiment e : task.installation) {
    if (e.work != TimedWork::host_gemm || e.beside != Beside::transfers) continue;
    const TimedPoint* busy = timings.find(e);
    e.beside = Beside::nothing;
    (void)add_row(rows, timings.find(e), busy);
  }
  const FittedPart* part = add_rows(to, {"gamma", {"1 - gamma"}, {}, true}, rows,
                                    "gamma: no two products were timed both alone and beside transfers");
  if (part != nullptr) gamma = std::clamp(1 - part->fit.coefficients[0], 0.0, 1.0);
  return part != nullptr;
}

FittedTask fit_pipeline(const CalibrationTask& task, const Timings& timings) {
  FittedTask fitted;
  HostModel host;
  const FittedPart* start = add_linear(fitted, "start", task, kind_of(TimedWork::start_gpus), timings);
  if (start == nullptr) return left_unfitted(fitted);
  host.stream_start_s = start->fit.coefficients[0];
  if (!add_gamma(fitted, task, timings, host.gamma)) return left_unfitted(fitted);
  const auto beside =
      chosen(task.installation, [](const Experiment& e) { return e.beside == Beside::host_product; });
  host.copies_beside =
      factor_of(add_factor(fitted, "copies_beside", beside, Beside::other_direction, timings));

  fitted.coefficients = pipeline_coefficients(host);
  fitted.predict = [gamma = host.gamma, timings](Experiment e) {
    if (e.work != TimedWork::host_gemm || e.beside != Beside::transfers || !(gamma < 1)) return 0.0;
    e.beside = Beside::nothing;
    const TimedPoint* alone = timings.find(e);
    return alone == nullptr ? 0.0 : alone->seconds / (1 - gamma);
  };
  return fitted;
}

nlohmann::json named(const FittedPart& part) {
  nlohmann::json object = {{"residual", part.fit.residual}, {"r_squared", part.fit.r_squared}};
  for (std::size_t i = 0; i < part.terms.size(); ++i) object[part.terms[i]] = part.fit.coefficients[i];
  return object;
}

// The term of m n has two causes that timings of products cannot separate: C passes through memory, and every
// element of C waits for its first products whatever k is. The rate of memory gives its share; the rest is
// waiting.
GemmTime time_of(const FittedPart& general, double c_s) {
  const auto& c = general.fit.coefficients;
  GemmTime time;
  time.start_s = c[0], time.s_per_product = c[1], time.s_per_ab = c[3];
  time.s_per_c = time.s_per_product > 0 ? std::min(c[2], c_s) : c[2];
  time.waiting_k = time.s_per_product > 0 ? (c[2] - time.s_per_c) / time.s_per_product : 0;
  return time;
}

// The shortest run of products gives the early rate, the difference of the two longest the late one.
SustainedRate sustained_of(const CalibrationTask& task, const Timings& timings) {
  std::vector<std::pair<double, double>> runs;  // multiplications of elements, seconds
  for (const Experiment& e : task.installation)
    if (const TimedPoint* point = e.in_a_row > 0 ? timings.find(e) : nullptr)
      runs.emplace_back(double(e.in_a_row) * double(e.m) * double(e.n) * double(e.k), point->seconds);
  if (runs.size() < 2) return {};
  std::sort(runs.begin(), runs.end());
  const auto &shortest = runs.front(), &shorter = runs[runs.size() - 2], &longest = runs.back();
  const double early = shortest.second / shortest.first;
  const double late = (longest.second - shorter.second) / (longest.first - shorter.first);
  if (late <= early) return {early, early, 0};
  return {early, late, std::max(0.0, (late * longest.first - longest.second) / (late - early))};
}

// `c_s`: the time to move an element of C in and out of memory; 0: unknown.
FittedTask fit_products(const CalibrationTask& task, const Timings& timings, double c_s) {
  FittedTask fitted;
  const auto single = chosen(task.installation, [](const Experiment& e) { return e.in_a_row == 0; });
  const auto square = chosen(single, [](const Experiment& e) { return e.m >= least_m && e.k == e.m; });
  const auto panel = chosen(single, [](const Experiment& e) { return e.m >= least_m && e.k < e.m; });
  const auto general_terms = [](const Experiment& e) {
    const auto m = double(e.m), n = double(e.n), k = double(e.k);
    return std::vector<double>{1, m * n * k, m * n, (m + n) * k};
  };
  const FittedPart* general =
      add_fit(fitted, {"general", {"start_s", "s_per_product", "s_per_mn", "s_per_ab"}, general_terms},
              single, timings);
  if (general == nullptr) return fitted;
  const GemmTime time = time_of(*general, c_s);
  fitted.coefficients = gemm_device_coefficients(time, sustained_of(task, timings));
  fitted.predict = [time](const Experiment& e) { return time.of(double(e.m), double(e.n), double(e.k)); };
  // Square products have k = m: both forms are one formula.
  const auto paper_terms = [](const Experiment& e) {
    const auto m = double(e.m), n = double(e.n), b = double(e.k);
    return std::vector<double>{m * n * b, m * b, m};
  };
  for (const auto& [name, experiments] : {std::pair("square", square), std::pair("panel", panel)})
    if (const auto* part =
            add_fit(fitted, {name, {"k1", "k2", "k3"}, paper_terms, false}, experiments, timings))
      fitted.coefficients[name] = named(*part);
  return fitted;
}

}  // namespace

void Timings::add(const Experiment& experiment, const TimedPoint& point) {
  points_.insert_or_assign(to_string(experiment), std::pair(experiment, point));
}

const TimedPoint* Timings::find(const Experiment& experiment) const {
  const auto it = points_.find(to_string(experiment));
  return it == points_.end() || !it->second.second.fault.empty() ? nullptr : &it->second.second;
}

double Timings::stream_rate(Beside beside) const {
  double rate = 0, most_bytes = 0;  // of the largest experiment, which caches help least
  for (const auto& [text, timed] : points_) {
    const auto& [e, point] = timed;
    if (e.work != TimedWork::stream || e.beside != beside || !point.fault.empty()) continue;
    if (double(e.bytes) > most_bytes) most_bytes = double(e.bytes), rate = most_bytes / point.seconds;
  }
  return rate;
}

double Timings::transfer_rate() const {
  // With one GPU, both of its directions.
  for (const Beside beside : {Beside::transfers, Beside::other_direction}) {
    std::map<std::pair<TimedWork, int>, double> best;
    for (const auto& [text, timed] : points_) {
      const auto& [e, point] = timed;
      if ((e.work != TimedWork::to_device && e.work != TimedWork::to_host) || e.beside != beside ||
          !point.fault.empty())
        continue;
      double& rate = best[{e.work, e.gpu}];
      rate = std::max(rate, double(e.bytes) / point.seconds);
    }
    double sum = 0;
    for (const auto& [direction, rate] : best) sum += rate;
    if (sum > 0) return sum;
  }
  return 0;
}

const FittedPart* add_fit(FittedTask& to, const Formula& formula, const std::vector<Experiment>& experiments,
                          const Timings& timings) {
  std::vector<LeastSquaresRow> rows;
  for (const Experiment& e : experiments)
    if (const TimedPoint* point = timings.find(e))
      rows.push_back({formula.of(e), point->seconds, point->spread});
  // One more than coefficients, to judge the fit by.
  const std::size_t needed = formula.terms.size() + 1;
  if (rows.size() < needed) {
    if (!experiments.empty())
      to.notes.push_back(fmt::format("{}: {} of {} experiments are usable, but the fit needs {}",
                                     formula.name, rows.size(), experiments.size(), needed));
    return nullptr;
  }
  FittedPart part{formula.name, formula.terms, least_squares(rows), formula.is_main};
  if (part.fit.r_squared < 0) {
    to.notes.push_back(
        fmt::format("{}: the fit to {} experiments is worse than their mean (R^2 {:.3f}) and is not kept",
                    formula.name, rows.size(), part.fit.r_squared));
    return nullptr;
  }
  to.parts.push_back(std::move(part));
  return &to.parts.back();
}

FittedTask fit_task(const CalibrationTask& task, const Timings& timings, const CalibrationMachine& machine) {
  if (task.model == host_copy_model) return fit_host_copies(task, timings, machine.host().threads);
  if (task.model == transfer_model) return fit_transfers(task, timings, int(machine.gpus().size()));
  if (task.model == pipeline_model) return fit_pipeline(task, timings);
  const double rate = task.gpu >= 0 ? machine.gpus()[std::size_t(task.gpu)].memory_bytes_per_s
                                    : timings.stream_rate(Beside::nothing);
  // C is read and written.
  FittedTask fitted = fit_products(task, timings, rate > 0 ? 2 * double(size_bytes(task.dtype)) / rate : 0);
  if (task.gpu < 0 && fitted.is_fitted()) fitted.coefficients["threads"] = machine.host().threads;
  return fitted;
}

FittedModel record_of(const CalibrationTask& task, const FittedTask& fitted,
                      const CalibrationMachine& machine) {
  FittedModel model;
  model.model = task.model;
  model.coefficients = fitted.coefficients;
  const bool of_products = task.model == gemm_host_model || task.model == gemm_device_model;
  if (of_products) model.dtype = to_string(task.dtype);
  if (task.gpu >= 0) {
    const CalibratedGpu& gpu = machine.gpus()[std::size_t(task.gpu)];
    model.device = gpu.name, model.driver = gpu.driver;
    // Products are shared by an architecture, transfers belong to the machine.
    if (of_products) model.architecture = gpu.architecture;
    if (of_products && !gpu.blas_version.empty())
      model.library = "cublas", model.library_version = gpu.blas_version;
  } else {
    const CalibratedHost& host = machine.host();
    model.device = host.device;
    if (of_products) model.library = host.blas, model.library_version = host.blas_version;
  }
  double squares = 0, spreads = 0;
  auto fits = nlohmann::json::object();
  for (const FittedPart& part : fitted.parts) {
    const LeastSquaresFit& fit = part.fit;
    nlohmann::json& line = fits[part.name] = to_json(fit);
    line["terms"] = part.terms, line["worse_than_noise"] = fit.is_worse_than_noise();
    if (!part.is_main) continue;
    squares += fit.samples * fit.residual * fit.residual, spreads += fit.samples * fit.noise * fit.noise;
    model.samples += fit.samples;
    model.r_squared = std::min(model.r_squared.value_or(1), fit.r_squared);
  }
  model.residual = std::sqrt(squares / double(model.samples));
  model.spread = std::sqrt(spreads / double(model.samples));
  model.time = time_now();
  model.extra = {{"fits", fits}};
  if (!fitted.notes.empty()) model.extra["notes"] = fitted.notes;
  return model;
}

}  // namespace tilewright
