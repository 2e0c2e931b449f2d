// Records read from and written to JSON, and the order in which they are believed.
#include "wisdom/record.hpp"

#include <cmath>
#include <limits>
#include <tuple>

#include "core/problem.hpp"
#include "wisdom/families.hpp"

namespace tilewright {
namespace {

using nlohmann::json;

std::string required_text(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_string())
    throw Error(ErrorCode::invalid_argument, key, fmt::format("'{}' is missing or no text", key));
  return it->get<std::string>();
}

// Removes the key, so that what is left at last is what no member holds.
template <class T>
void take(json& object, const char* key, T& value) {
  const auto it = object.find(key);
  if (it == object.end()) return;
  if (!it->is_null()) value_from_json(*it, key, value);
  object.erase(key);
}

template <class T>
void take(json& object, const char* key, std::optional<T>& value) {
  T taken{};
  if (const auto it = object.find(key); it == object.end() || it->is_null()) {
    object.erase(key);
    return;
  }
  take(object, key, taken);
  value = taken;
}

bool is_gemm_problem(const std::string& text) {
  try {
    (void)parse_problem(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The fewest samples whose extremes enclose the median with 95 %.
constexpr std::int64_t least_samples = 6;

// log2 of the uncertainty of the centre; infinite where it is not known. Few samples lie close together by
// chance and would look the surest of all.
double uncertainty(const WisdomRecord& record) {
  const double spread = record.seconds_high - record.seconds_low;
  if (!record.recorded().well_measured() || !(spread > 0)) return std::numeric_limits<double>::infinity();
  return std::round(std::log2(spread / record.seconds / std::sqrt(double(record.samples))));
}

}  // namespace

void take_observed(json& object, WisdomRecord& record) {
  take(object, "error", record.error);
  take(object, "error_bound", record.error_bound);
  take(object, "energy_j", record.energy_j);
  const auto metrics = object.find("metrics");
  if (metrics == object.end()) return;
  if (!metrics->is_object()) throw Error(ErrorCode::invalid_argument, "metrics", "'metrics' is no object");
  record.metrics = *metrics;
  object.erase("metrics");
}

std::optional<WisdomRecord> parse_record(const std::string& line) {
  json object;
  try {
    object = json::parse(line);
  } catch (const json::exception& error) {
    throw Error(ErrorCode::invalid_argument, "record", json_fault(error));
  }
  if (!object.is_object()) throw Error(ErrorCode::invalid_argument, "record", "it is no JSON object");
  if (object.contains("command") || object.contains("summary")) return std::nullopt;
  WisdomRecord record;
  record.family = required_text(object, "family");
  record.problem = required_text(object, "problem");
  if (!is_known_family(record.family) && !is_gemm_problem(record.problem)) return std::nullopt;
  (void)parse_problem(record.problem);
  const auto config = object.find("config");
  if (config == object.end() || !config->is_object())
    throw Error(ErrorCode::invalid_argument, "config", "'config' is missing or no object");
  record.config = *config;
  check_config(record.family, record.config);
  record.device = required_text(object, "device");
  for (const char* key : {"family", "problem", "config", "device"}) object.erase(key);
  take(object, "driver", record.driver);
  take(object, "source_hash", record.source_hash);
  take(object, "compiler", record.compiler);
  take(object, "objective", record.objective);
  take(object, "seconds", record.seconds);
  take(object, "seconds_low", record.seconds_low);
  take(object, "seconds_high", record.seconds_high);
  take(object, "samples", record.samples);
  take(object, "default_seconds", record.default_seconds);
  take(object, "candidates", record.candidates);
  take_observed(object, record);
  take(object, "verdict", record.verdict);
  take(object, "reason", record.reason);
  take(object, "time", record.time);
  record.extra = std::move(object);
  record.text = line;
  return record;
}

json to_json(const WisdomRecord& record) {
  json object = record.extra.is_object() ? record.extra : json::object();
  object["family"] = record.family;
  object["problem"] = record.problem;
  object["config"] = record.config;
  object["device"] = record.device;
  if (!record.driver.empty()) object["driver"] = record.driver;
  object["source_hash"] = record.source_hash;
  object["compiler"] = record.compiler;
  object["objective"] = record.objective;
  object["seconds"] = record.seconds;
  object["seconds_low"] = record.seconds_low;
  object["seconds_high"] = record.seconds_high;
  object["samples"] = record.samples;
  object["default_seconds"] = record.default_seconds ? json(*record.default_seconds) : json();
  object["candidates"] = record.candidates ? json(*record.candidates) : json();
  if (record.error) object["error"] = *record.error;
  if (record.error_bound) object["error_bound"] = *record.error_bound;
  if (record.energy_j) object["energy_j"] = *record.energy_j;
  if (record.metrics.is_object() && !record.metrics.empty()) object["metrics"] = record.metrics;
  object["verdict"] = record.verdict;
  if (!record.reason.empty()) object["reason"] = record.reason;
  object["time"] = record.time;
  return object;
}

bool is_stale(const WisdomRecord& record) {
  return !is_known_family(record.family) || record.source_hash != current_source_hash(record.family);
}

bool RecordedTime::well_measured() const { return samples >= least_samples && seconds > 0; }

std::optional<double> RecordedTime::regret() const {
  if (!default_seconds || !(seconds > 0)) return std::nullopt;
  return *default_seconds / seconds - 1;
}

std::string RecordedTime::quality() const {
  if (!(seconds > 0) || samples < 1) return "not measured";
  if (!well_measured()) return fmt::format("{} sample{}: too few to tell", samples, samples == 1 ? "" : "s");
  return fmt::format("+-{:.2g} % in {} samples", 50 * (seconds_high - seconds_low) / seconds, samples);
}

bool supersedes(const WisdomRecord& found, const WisdomRecord& known) {
  if (known.time > found.time) return false;
  const bool sound = known.passed() && !is_stale(known) && known.recorded().well_measured();
  return !sound || found.recorded().well_measured();
}

bool is_better(const WisdomRecord& x, const WisdomRecord& y) {
  const auto rank = [](const WisdomRecord& r) {
    return std::tuple(r.passed(), !is_stale(r), -uncertainty(r), std::string_view(r.time));
  };
  return rank(x) > rank(y);
}

}  // namespace tilewright
