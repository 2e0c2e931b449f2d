// What a calibration found, in words for people and as JSON lines for scripts. It writes neither.
#pragma once

#include <string>
#include <vector>

#include "core/json.hpp"
#include "tune/calibrate/calibration.hpp"

namespace tilewright {

// The CPU, its library, and the GPUs or why there are none.
std::string machine_text(const CalibrationMachine& machine);

// Coefficients with their standard errors, residuals, R^2, and the validation table.
std::string model_text(const CalibratedModel& model);
// What could not be fitted, and why.
std::string unfitted_text(const CalibrationTask& task, const FittedTask& fitted,
                          const CalibrationMachine& machine);
std::string left_out_text(const std::vector<Experiment>& experiments, const std::string& reason);
std::string summary_text(const CalibrationReport& report);

// The record of wisdom, then a row for each experiment of the validation set.
std::vector<nlohmann::json> model_lines(const CalibratedModel& model);
nlohmann::json summary_line(const CalibrationReport& report);

}  // namespace tilewright
