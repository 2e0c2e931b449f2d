// Reads the rows of recorded sweeps.
#include <fmt/format.h>

#include "analyze/data.hpp"
#include "core/fields.hpp"
#include "core/input/json_text.hpp"
#include "core/problem.hpp"
#include "measure/recorded_file.hpp"
#include "people/refusal.hpp"
#include "wisdom/families.hpp"

namespace tilewright {
namespace {

std::optional<double> number(const nlohmann::json& line, const char* key) {
  const auto at = line.find(key);
  return at != line.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

std::string text(const nlohmann::json& line, const char* key, const std::string& otherwise = "") {
  const auto at = line.find(key);
  return at != line.end() && at->is_string() ? at->get<std::string>() : otherwise;
}

// Adds the numbers of nested objects by their path.
void flatten(const nlohmann::json& object, const std::string& before, std::map<std::string, double>& to) {
  for (const auto& item : object.items()) {
    if (item.value().is_number()) to[before + item.key()] = item.value().get<double>();
    if (item.value().is_boolean()) to[before + item.key()] = item.value().get<bool>() ? 1 : 0;
    if (item.value().is_object()) flatten(item.value(), before + item.key() + ".", to);
  }
}

[[noreturn]] void refuse_line(const std::string& path, std::size_t number, const std::string& why) {
  io_fault("sweep", "sweep = '{}': line {} {}", path, number, why);
}

// Lines after a `base` line leave out its fields, and those of the tuner leave out the fields of its first
// line.
class RowReader {
 public:
  explicit RowReader(const std::string& path) : path_(path) {}

  // `line_number` is the line's number in the file.
  std::optional<SweepRow> row(const nlohmann::json& line, std::size_t line_number) {
    if (line.contains("run")) take_run(line["run"]);
    if (line.contains("base")) {
      base_ = line["base"];
      problem_ = text(line, "problem", problem_);
      device_ = text(line, "device", device_);
      uuid_ = text(line, "device_uuid", uuid_);
      hash_ = text(line, "source_hash", hash_);
    }
    const bool measured = line.contains("seconds") && !line["seconds"].is_null();
    const bool failed = line.contains("fault") || line.contains("failed");
    if (!measured && !failed) return std::nullopt;  // lines of the command or the card
    for (const char* key : {"seconds", "energy_j", "joules", "watts"})
      if (line.contains(key) && !line[key].is_null() && !(line[key].is_number() && line[key] >= 0))
        refuse_line(path_, line_number,
                    fmt::format("has {} = {}, which is not a number", key, line[key].dump()));
    if (measured) refuse_no_time(line, "seconds", line_number);
    SweepRow row;
    row.problem = text(line, "problem", problem_);
    if (row.problem.empty()) return std::nullopt;  // the measurement is not of a product
    refuse_no_problem(row.problem, line_number);
    row.family = text(line, "family", family_);
    row.phase = text(line, "phase", text(line, "stage"));
    row.impl = text(line, "impl", "tilewright");
    row.device = text(line, "device", device_);
    row.impl_version = text(line, "impl_version");
    row.uuid = text(line, "device_uuid", uuid_);
    row.source_hash = text(line, "source_hash", hash_);
    row.fault = text(line, "fault", text(line, "failed"));
    row.energy_note = text(line, "energy_note");
    row.seconds = number(line, "seconds");
    row.joules = number(line, "energy_j");
    if (!row.joules) row.joules = number(line, "joules");
    row.watts = number(line, "watts");
    const bool has_config = line.contains("config") && line["config"].is_object();
    if (has_config && !row.impl.starts_with("tilewright")) {
      // The version is the only field of a library's config.
      row.impl_version = text(line["config"], "version", row.impl_version);
    } else if (has_config) {
      row.is_default = base_.is_object() && line["config"].empty();
      row.config = base_;
      row.config.update(line["config"]);
      complete(row);
    }
    if (line.contains("metrics")) {
      if (line["metrics"].contains("mean_seconds"))
        refuse_no_time(line["metrics"], "mean_seconds", line_number);
      flatten(line["metrics"], "", row.metrics);
      // A card at its power limit keeps changing its clock: the mean of a window is more meaningful than its
      // median launch.
      if (const auto mean = number(line["metrics"], "mean_seconds"); mean && row.seconds) row.seconds = mean;
    }
    if (const auto notes = line.find("notes"); notes != line.end() && notes->is_array())
      for (const auto& note : *notes)
        if (note.is_string()) row.notes.push_back(note.get<std::string>());
    return row;
  }

 private:
  void refuse_no_problem(const std::string& problem, std::size_t line_number) const {
    try {
      (void)parse_problem(problem);
    } catch (const Error& error) {
      refuse_line(path_, line_number, fmt::format("has no problem: {}", error.what()));
    }
  }
  void refuse_no_time(const nlohmann::json& of, const char* key, std::size_t line_number) const {
    constexpr double least = 1e-12;  // shorter times make infinite rates
    if (!(of[key].is_number() && of[key] >= least))
      refuse_line(path_, line_number, fmt::format("has {} = {}, which is not a time", key, of[key].dump()));
  }
  // Adds axes that are newer than the row with their old values, on which the later steps rely; leaves out
  // and counts rows with axes that no longer exist, or of other implementations.
  static void complete(SweepRow& row) {
    try {
      check_config(row.family, row.config);
      row.config = complete_config(row.family, row.config);
    } catch (const Error& error) {
      row.fault = fmt::format("no config of {}: {}", row.family, error.what());
      row.seconds.reset();
    }
  }
  // A log without its card's name must not be taken for one of another log's card.
  void take_run(const nlohmann::json& run) {
    device_ = text(run, "device");
    family_ = text(run, "family");
    if (run.contains("gpu")) uuid_ = text(run, "gpu_uuid", fmt::format("unnamed in {}", path_));
  }

  const std::string& path_;
  nlohmann::json base_ = nlohmann::json::object();
  std::string problem_, family_, device_, uuid_, hash_;
};

// Adds the row that `line` holds, if any.
void add_row(RowReader& reader, const nlohmann::json& line, const std::string& path, std::size_t number,
             std::vector<SweepRow>& rows) {
  try {
    if (auto row = reader.row(line, number)) rows.push_back(std::move(*row));
  } catch (const nlohmann::json::exception& error) {
    refuse_line(path, number, fmt::format("is invalid ({})", json_fault(error)));
  }
}

}  // namespace

std::vector<SweepRow> read_sweeps(const std::vector<std::string>& paths) {
  std::vector<SweepRow> rows;
  for (const std::string& path : paths) {
    std::istringstream file = read_recorded(path, "SWEEP", ErrorCode::invalid_argument);
    RowReader reader(path);
    std::size_t number = 0;
    for (std::string text; next_line(file, text);) {
      ++number;
      nlohmann::json line;
      try {
        line = parse_json(text);
      } catch (const NotJson& error) {
        if (file.eof()) break;  // was being written when the run ended
        refuse_line(path, number, fmt::format("is invalid ({})", json_fault(error)));
      }
      add_row(reader, line, path, number, rows);
    }
  }
  return rows;
}

std::vector<SweepRow> sweep_rows(const std::vector<nlohmann::json>& lines, const std::string& path) {
  std::vector<SweepRow> rows;
  RowReader reader(path);
  for (std::size_t i = 0; i < lines.size(); ++i) add_row(reader, lines[i], path, i + 1, rows);
  return rows;
}

}  // namespace tilewright
