// Prints records for people, in short tables: `wisdom list` and `wisdom diff`, sorted by device and problem,
// and what `tune` finds. JSON has everything else.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "tune/tuner.hpp"
#include "wisdom/model.hpp"
#include "wisdom/record.hpp"

namespace tilewright::cli {

// Returns "current" if lookups use the record, else why they do not.
std::string state_of(const WisdomRecord& record);

// A table for each device, and a line for each model.
void print_records(std::FILE* out, std::vector<WisdomRecord> records);
void print_models(std::FILE* out, const std::vector<FittedModel>& models);

// A row of the differences of two files: who has the record or model, and whose is better.
struct DifferenceRow {
  std::string what, first, second, better;
};
DifferenceRow difference_row(const WisdomRecord* first, const WisdomRecord* second,
                             const std::string& better);
DifferenceRow difference_row(const FittedModel* first, const FittedModel* second, const std::string& better);
void print_differences(std::FILE* out, const std::vector<DifferenceRow>& rows);

// Short names of problems in tables for people; JSON has the canonical texts:
// "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=458:beta=one:residency=l2" -> "f64 nn 8 strided beta=one
// l2": without the count of the batch, which records do not depend on.
std::string short_name(const std::string& problem);

// Reports the results of `tune`: a table for people, and the JSON object of each line of wisdom.

class ToolOperation;

// One line for each constraint that cut something off the space, of more than `most` those that cut the most
// and one for the rest; "" where none did.
std::string removed_text(const std::vector<Removed>& removed, std::size_t most);

// The head of the table, and the row of a result, whose state says what became of its record.
std::string tune_head();
std::string tune_row(const TuneResult& result, const std::string& state);
// Lines below the row: whatever needs attention, and with `verbose` the config, the constraints that cut the
// space and the contest. "" for none.
std::string tune_remarks(const TuneResult& result, bool verbose);

// The record with the keys that every measurement of the command line has. What the record holds already
// stays as it is, so that the line is still one of wisdom.
nlohmann::json measured_line(const WisdomRecord& record, const std::vector<const ToolOperation*>& operations);

}  // namespace tilewright::cli
