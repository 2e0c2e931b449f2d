// The verbs of the command line: each add_* registers one subcommand with its flags, help and example, and
// runs it from CLI11's callback. Nothing here computes; verbs report errors by throwing, and main turns those
// into a sentence and a code.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace tilewright::cli {

class ToolOperation;
using ToolOperations = std::vector<const ToolOperation*>;

void add_gemm(CLI::App& app);
void add_bench(CLI::App& app, const ToolOperations& operations);
void add_tune(CLI::App& app, const ToolOperations& operations);
void add_explain(CLI::App& app, const ToolOperations& operations);
void add_info(CLI::App& app);
void add_wisdom(CLI::App& app);
void add_analyze(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_lu(CLI::App& app);
void add_factor(CLI::App& app);
void add_solve(CLI::App& app);
void add_record(CLI::App& app);
void add_pages(CLI::App& app);

// Checks an option that is read into an integer. Its message continues the option's name, as those of all
// validators do.
CLI::Validator whole_number(std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max());

// Thrown if a job ran and its outcome is bad (a failed --verify, a regression): exit code 1. Wrong use is
// reported by Error(invalid_argument) or Error(unsupported), exit code 2; any other Error is a failed job,
// exit code 1.
class JobFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tilewright::cli
