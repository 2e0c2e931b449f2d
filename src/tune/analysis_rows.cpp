// Reading the rows of recorded sweeps.
#include <fmt/format.h>

#include <fstream>

#include "tune/analysis_data.hpp"

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

// Numbers of nested objects by their path.
void flatten(const nlohmann::json& object, const std::string& before, std::map<std::string, double>& to) {
  for (const auto& item : object.items()) {
    if (item.value().is_number()) to[before + item.key()] = item.value().get<double>();
    if (item.value().is_boolean()) to[before + item.key()] = item.value().get<bool>() ? 1 : 0;
    if (item.value().is_object()) flatten(item.value(), before + item.key() + ".", to);
  }
}

// Lines after a `base` line leave out what it says.
class RowReader {
 public:
  std::optional<SweepRow> row(const nlohmann::json& line) {
    if (line.contains("base")) {
      base_ = line["base"];
      problem_ = text(line, "problem", problem_);
      device_ = text(line, "device", device_);
      hash_ = text(line, "source_hash", hash_);
    }
    const bool measured = line.contains("seconds") && line["seconds"].is_number();
    const bool failed = line.contains("fault") || line.contains("failed");
    if (!measured && !failed) return std::nullopt;  // the command, what was told of the card
    SweepRow row;
    row.problem = text(line, "problem", problem_);
    row.phase = text(line, "phase", text(line, "stage"));
    row.impl = text(line, "impl", "tilewright");
    row.device = text(line, "device", device_);
    row.uuid = text(line, "device_uuid");
    row.source_hash = text(line, "source_hash", hash_);
    row.fault = text(line, "fault", text(line, "failed"));
    row.energy_note = text(line, "energy_note");
    row.seconds = number(line, "seconds");
    row.joules = number(line, "energy_j");
    if (!row.joules) row.joules = number(line, "joules");
    row.watts = number(line, "watts");
    if (line.contains("config")) {
      row.config = base_;
      row.config.update(line["config"]);
    }
    if (line.contains("metrics")) flatten(line["metrics"], "", row.metrics);
    if (const auto notes = line.find("notes"); notes != line.end() && notes->is_array())
      for (const auto& note : *notes)
        if (note.is_string()) row.notes.push_back(note.get<std::string>());
    return row;
  }

 private:
  nlohmann::json base_ = nlohmann::json::object();
  std::string problem_, device_, hash_;
};

}  // namespace

std::vector<SweepRow> read_sweeps(const std::vector<std::string>& paths) {
  std::vector<SweepRow> rows;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    if (!file) throw Error(ErrorCode::io, "sweep", fmt::format("sweep = '{}' cannot be read", path));
    RowReader reader;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      try {
        if (auto row = reader.row(nlohmann::json::parse(line))) rows.push_back(std::move(*row));
      } catch (const nlohmann::json::exception& error) {
        throw Error(ErrorCode::io, "sweep",
                    fmt::format("sweep = '{}': line {} cannot be read ({})", path, number, error.what()));
      }
    }
  }
  return rows;
}

}  // namespace tilewright
