// Records and models: their JSON lines, and which of two is kept.
#include "wisdom/record.hpp"

#include <cmath>
#include <limits>
#include <tuple>

#include "core/date.hpp"
#include "core/input/json_text.hpp"
#include "core/problem.hpp"
#include "wisdom/families.hpp"
#include "wisdom/model.hpp"

namespace tilewright {
namespace {

// The fewest samples whose extremes enclose the median with 95 %.
constexpr std::int64_t least_samples = 6;

// log2 of the uncertainty of the centre; infinite if it is unknown or the samples, too few, agree by chance.
double uncertainty(const WisdomRecord& record) {
  const double spread = record.seconds_high - record.seconds_low;
  if (!record.recorded().well_measured() || !(spread > 0)) return std::numeric_limits<double>::infinity();
  return std::round(std::log2(spread / record.seconds / std::sqrt(double(record.samples))));
}

}  // namespace

nlohmann::json parse_line(const std::string& line) {
  nlohmann::json object = parse_json(line, "record");
  if (!object.is_object()) throw Error(ErrorCode::invalid_argument, "record", "it is not a JSON object");
  return object;
}

void check(const WisdomRecord& r) {
  columns::require_measured_fields(r);
  columns::require_date("time", r.time);
  if (r.verdict != "passed" && r.verdict != "failed")
    throw Error(ErrorCode::invalid_argument, "verdict",
                fmt::format("verdict = '{}' is not one of passed, failed", r.verdict));
  if (!is_known_family(r.family)) return;
  if (r.problem.find(':') == std::string::npos) (void)parse_problem(r.problem);  // says what is wrong
  if (subject_of(r.problem).operation == operation_of(r.family)) check_config(r.family, r.config);
}

std::optional<WisdomRecord> record_of_line(nlohmann::json line) {
  for (const char* other : {"command", "summary", "model"})
    if (line.contains(other)) return std::nullopt;
  const auto text_of = [&](const char* key) {
    const auto it = line.find(key);
    return it != line.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  const std::string family = text_of("family"), problem = text_of("problem");
  const bool names_operation = problem.find(':') != std::string::npos;
  if (!family.empty() && !problem.empty() && !is_known_family(family) && !names_operation)
    return std::nullopt;
  auto record = from_line<WisdomRecord>(std::move(line));
  check(record);
  record.source_hash = renamed_source_hash(family, record.source_hash);
  return record;
}

std::optional<WisdomRecord> parse_record(const std::string& line) { return record_of_line(parse_line(line)); }

nlohmann::json to_json(const WisdomRecord& record) { return line_of(record); }

std::optional<WisdomQuery> query_of(const WisdomRecord& record) {
  try {
    WisdomSubject subject = subject_of(record.problem);
    if (!subject.problem) return std::nullopt;
    return WisdomQuery{record.family,
                       architecture_of(record.family, record.config),
                       *subject.problem,
                       record.objective,
                       record.device,
                       std::move(subject.math),
                       std::move(subject.operation)};
  } catch (const Error&) {
    return std::nullopt;
  }
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

bool is_later(const std::string& date, const std::string& than) {
  const std::string now = time_now();
  const auto known = [&](const std::string& one) { return one > now ? std::string() : one; };
  return known(date) > known(than);
}

bool supersedes(const WisdomRecord& found, const WisdomRecord& known) {
  const bool outdated = is_stale(known) && !is_stale(found);
  if (!outdated && is_later(known.time, found.time)) return false;
  const bool sound = known.passed() && !is_stale(known) && known.recorded().well_measured();
  return !sound || found.recorded().well_measured();
}

bool is_better(const WisdomRecord& x, const WisdomRecord& y) {
  const auto rank = [](const WisdomRecord& r) {
    return std::tuple(r.passed(), !is_stale(r), -uncertainty(r));
  };
  return rank(x) != rank(y) ? rank(x) > rank(y) : is_later(x.time, y.time);
}

std::optional<FittedModel> model_of_line(const nlohmann::json& line) {
  if (!line.contains("model")) return std::nullopt;
  auto model = from_line<FittedModel>(line);
  columns::require_measured_fields(model, {"r_squared"});
  columns::require_date("time", model.time);
  return model;
}

nlohmann::json to_json(const FittedModel& model) { return line_of(model); }

std::string identity_of(const FittedModel& m) {
  return fmt::format("model|{}|{}|{}|{}|{}|{}|{}|{}", m.model, m.operation, m.device, m.driver, m.library,
                     m.library_version, m.dtype, m.variant);
}

bool is_stale(const FittedModel& model) {
  return !model.source_hash.empty() && !is_current_source_hash(model.source_hash);
}

bool is_better(const FittedModel& x, const FittedModel& y) {
  const auto rank = [](const FittedModel& m) { return std::tuple(!is_stale(m), m.samples); };
  return rank(x) != rank(y) ? rank(x) > rank(y) : is_later(x.time, y.time);
}

bool supersedes(const FittedModel& found, const FittedModel& known) {
  return (is_stale(known) && !is_stale(found)) || !is_later(known.time, found.time);
}

std::optional<ModelFit> fit_of(const FittedModel& m, const ModelQuery& query) {
  const bool same_device = is_same_device(query.device, m.device);
  if (m.model != query.model || m.operation != query.operation) return std::nullopt;
  if (!m.dtype.empty() && m.dtype != query.dtype) return std::nullopt;
  if (!same_device && (m.architecture.empty() || m.architecture != query.architecture)) return std::nullopt;
  const auto agrees = [](const std::string& asked, const std::string& known) {
    return asked.empty() || asked == known;
  };
  const bool same_library =
      agrees(query.library, m.library) && agrees(query.library_version, m.library_version);
  return ModelFit{same_device, same_library, agrees(query.driver, m.driver), !m.dtype.empty(), m.time};
}

}  // namespace tilewright
