// What the phases of the large GEMM bench share besides the device.
#include "gemm_large_run.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>

#include "measure/gpu/other_users.hpp"
#include "wisdom/families.hpp"

namespace tilewright::bench {
namespace {

constexpr double screening_heat_s = 0.3, first_screening_s = 0.01;

// Of wisdom, as `tilewright wisdom export` writes them.
bool is_record(const nlohmann::json& line) {
  return line.value("family", "") == "gemm" && line.value("verdict", "") == "passed";
}

// As rows of this bench state it: records name the residency, too.
std::string problem_of(const nlohmann::json& line) {
  GemmProblem p = parse_problem(line.at("problem").get<std::string>());
  p.residency = Residency::automatic;
  return to_string(p);
}

}  // namespace

LargeBench::LargeBench(const LargeFlags& flags)
    : flags_(flags),
      seeds_(read_seeds(flags.seeds)),
      device_(0, flags.share, flags.cache),
      gpu_(device_.gpu()),
      log_(flags.json, LineLogRules{"json", "command", flags.resume}),
      rows_(log_.kept()) {
  if (device_.nvml() != nullptr) notes_ = notes_before(*device_.nvml());
  for (const std::string& note : notes_) std::printf("NOTE %s\n", note.c_str());
  const nlohmann::json now{{"device", gpu_.limits().name},
                           {"device_uuid", gpu_.limits().uuid},
                           {"source_hash", current_source_hash("gemm")}};
  for (const auto& line : rows_) run_ += line.contains("command") || line.contains("resumed") ? 1 : 0;
  nlohmann::json head{{rows_.empty() ? "command" : "resumed", flags.command}};
  if (!rows_.empty()) log_.refuse_other_run(rows_.front(), now);
  head.update(now);
  if (!notes_.empty()) head["notes"] = notes_;
  write(head);
}

std::map<std::string, std::vector<GemmLargeConfig>> read_seeds(const std::vector<std::string>& files) {
  std::map<std::string, std::vector<GemmLargeConfig>> seeds;
  for (const std::string& path : files) {
    std::ifstream file(path);
    std::size_t number = 0, found = 0;
    const auto refuse = [&](const std::string& why) {
      throw Error(ErrorCode::invalid_argument, "--seeds", fmt::format("--seeds = '{}': {}", path, why));
    };
    for (std::string text; std::getline(file, text);) {
      ++number;
      try {
        const auto line = nlohmann::json::parse(text);
        const bool won = line.value("phase", "") == "compare" && line.value("best", false);
        if (!won && !is_record(line)) continue;
        seeds[problem_of(line)].push_back(from_json<GemmLargeConfig>(line.at("config")));
        ++found;
      } catch (const std::exception& error) {  // of JSON or of a field
        if (file.eof()) break;                 // a line without its end: the run was killed
        refuse(fmt::format("line {} cannot be read ({})", number, json_fault(error)));
      }
    }
    if (found == 0) refuse("it holds no winner of a comparison and no record of gemm");
    std::printf("%zu configs from %s\n", found, path.c_str());
  }
  return seeds;
}

GemmLargeConfig parse_config(const std::string& text, const GemmLargeConfig& base) {
  try {
    const auto json = nlohmann::json::parse(text);
    if (!json.is_object()) throw Error(ErrorCode::invalid_argument, "--config", "it is no object");
    return from_json(json, base);
  } catch (const std::exception& error) {
    throw Error(ErrorCode::invalid_argument, "--config",
                fmt::format("--config = '{}': {}", text, error.what()));
  }
}

int LargeBench::run() {
  for (const auto& phase : flags_.phases) {
    if (phase == "variety") run_variety();
    if (phase == "repeat") run_repeat();
    if (phase == "compare") run_compare();
    if (phase == "ladder") run_ladder();
    if (phase == "energy") run_energy();
  }
  if (wrong_ > 0) std::fprintf(stderr, "bench_gemm_large: %zu results were wrong\n", wrong_);
  if (without_any_ > 0)
    std::fprintf(stderr, "bench_gemm_large: no config ran for %zu problems\n", without_any_);
  return wrong_ + without_any_ > 0 ? 1 : left_out_ ? 3 : 0;
}

std::vector<GemmProblem> LargeBench::problems(const std::vector<std::int64_t>& sizes,
                                              const std::vector<std::string>& ops) const {
  std::vector<GemmProblem> shapes = flags_.shapes, all;
  if (shapes.empty())
    for (const std::int64_t n : sizes) shapes.push_back(large_problem(DType::f64, n, n, n, "nn"));
  for (const DType dtype : flags_.dtypes)
    for (const auto& pair : flags_.ops.empty() ? ops : flags_.ops)
      for (const Scalar beta : flags_.betas)
        for (const GemmProblem& s : shapes) {
          all.push_back(large_problem(dtype, s.m, s.n, s.k, pair));
          all.back().beta = beta;
        }
  return all;
}

bool LargeBench::late(const std::string& left_out) {
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  if (elapsed < flags_.seconds) return false;
  std::printf("LATE after %.0f s: %s left out; go on with --resume\n", elapsed, left_out.c_str());
  left_out_ = true;
  return true;
}

void LargeBench::nothing_ran(const GemmProblem& p) {
  ++without_any_;
  std::printf("%s: nothing ran\n", to_string(p).c_str());
}

void LargeBench::write(const nlohmann::json& line) {
  log_.write(line);
  rows_.push_back(line);
}

void LargeBench::say(const std::string& note) {
  if (std::find(said_.begin(), said_.end(), note) != said_.end()) return;
  said_.push_back(note);
  std::printf("NOTE %s\n", note.c_str());
}

nlohmann::json LargeBench::row(const GemmProblem& p, const char* impl, const LargeTrial* trial,
                               const char* phase) {
  auto line = device_.row(p, impl, trial, phase);
  std::vector<std::string> notes = notes_;
  if (device_.nvml() != nullptr)
    for (const std::string& note : notes_during(*device_.nvml())) {
      if (std::find(notes.begin(), notes.end(), note) != notes.end()) continue;
      notes.push_back(note);
      say(note);
    }
  if (!notes.empty()) line["notes"] = notes;
  return line;
}

std::vector<nlohmann::json> LargeBench::measured_lines(const GemmProblem& p, const char* phase,
                                                       const char* impl) const {
  std::vector<nlohmann::json> lines;
  for (const auto& line : rows_)
    if (line.value("problem", "") == to_string(p) && line.value("phase", "") == phase &&
        line.value("impl", "") == impl)
      lines.push_back(line);
  return lines;
}

const nlohmann::json* LargeBench::measured_before(const GemmProblem& p, const char* phase, const char* key,
                                                  const nlohmann::json& value) const {
  for (const auto& line : rows_)
    if (line.value("problem", "") == to_string(p) && line.value("phase", "") == phase && line.contains(key) &&
        (value.is_null() ? line[key] != false : line[key] == value))
      return &line;
  return nullptr;
}

nlohmann::json ratio_json(const Estimate& ratio) {
  return {{"peer", "cublas"},
          {"centre", ratio.centre},
          {"low", ratio.low},
          {"high", ratio.high},
          {"samples", ratio.samples}};
}

void LargeBench::check(const GemmProblem& p, std::vector<LargeTrial>& trials) {
  for (LargeTrial& trial : trials) {
    device_.check(p, trial);
    wrong_ += trial.fault.empty() ? 0 : 1;
    if (!trial.fault.empty())
      std::printf("WRONG %s | %s: %s\n", to_string(p).c_str(), describe(trial.config).c_str(),
                  trial.fault.c_str());
  }
  std::erase_if(trials, [](const LargeTrial& trial) { return !trial.fault.empty(); });
}

// Rounds, each over the better half of the one before and twice as long. A round goes through a drawn order
// forth and back, after some load: at the power limit a time depends on what ran just before.
void LargeBench::screen(const GemmProblem& p, std::vector<LargeTrial>& trials) {
  if (trials.empty()) return;
  const auto timed = [&](const LargeTrial& trial, double stretch_s) {
    const auto launch = device_.ours(p, trial);
    return device_.time(launch, static_cast<int>(std::clamp(stretch_s / trial.seconds, 1.0, 5000.0)));
  };
  for (LargeTrial& trial : trials) trial.seconds = device_.time(device_.ours(p, trial), 1);
  timed(trials.front(), screening_heat_s);
  std::mt19937 random(7);
  double stretch_s = first_screening_s;
  for (std::size_t alive = trials.size();; alive = std::max(flags_.finalists, alive / 2), stretch_s *= 2) {
    const auto end = trials.begin() + static_cast<std::ptrdiff_t>(alive);
    std::shuffle(trials.begin(), end, random);
    std::vector<double> forth(alive), back(alive);
    for (std::size_t i = 0; i < alive; ++i) forth[i] = timed(trials[i], stretch_s);
    for (std::size_t i = alive; i-- > 0;) back[i] = timed(trials[i], stretch_s);
    for (std::size_t i = 0; i < alive; ++i) trials[i].seconds = (forth[i] + back[i]) / 2;
    std::stable_sort(trials.begin(), end,
                     [](const LargeTrial& x, const LargeTrial& y) { return x.seconds < y.seconds; });
    if (alive <= flags_.finalists) return;
  }
}

}  // namespace tilewright::bench
