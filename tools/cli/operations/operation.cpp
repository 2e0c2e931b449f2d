// The list of operations, who serves a problem, and what all of them say alike.
#include "operations/operation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "people/refusal.hpp"

namespace tilewright::cli {
namespace {

nlohmann::json number_or_null(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json decision_json(const Decision& said, const std::string& does) {
  nlohmann::json object = {{"name", said.candidate}, {"taken", said.accepted}, {"reason", said.reason}};
  if (said.seconds) object.update({{"predicted_s", *said.seconds}, {"predicted_error", said.error}});
  if (!does.empty()) object["description"] = said.accepted ? does : "";
  return object;
}

}  // namespace

const ToolOperations& tool_operations() {
  static const ToolOperations all{&product_verbs(), &lu_verbs()};
  return all;
}

const ToolOperation& operation_of(const ToolOperations& operations, const std::string& problem) {
  for (const ToolOperation* one : operations)
    if (problem.starts_with(one->name() + ":")) return *one;
  return *operations.front();
}

const ToolOperation& operation_of(const ToolOperations& operations,
                                  const std::vector<std::string>& problems) {
  std::vector<std::string> things;
  const ToolOperation* found = operations.front();
  for (const ToolOperation* one : operations)
    if (std::any_of(problems.begin(), problems.end(),
                    [&](const auto& text) { return &operation_of(operations, text) == one; }))
      found = one, things.push_back(one->things());
  if (things.size() > 1)
    wrong_use("PROBLEM", "{} are not tuned in one run: name either", fmt::join(things, " and "));
  return *found;
}

std::string example_problems(const ToolOperations& operations, const char* separator) {
  std::vector<std::string> all;
  for (const ToolOperation* one : operations) all.push_back(one->example());
  return fmt::format("{}", fmt::join(all, separator));
}

nlohmann::json explanation_json(const Explanation& said, const std::string& text) {
  nlohmann::json object = {{"problem", said.asked},
                           {"candidate", said.candidate},
                           {"candidates", nlohmann::json::array()},
                           {"text", text}};
  for (const Decision& one : said.decisions) object["candidates"].push_back(decision_json(one, said.does));
  const bool is_tuned = said.known.match != WisdomMatch::none;
  object["config"] = said.known.config;
  object["config_source"] = is_tuned ? nlohmann::json(said.known.source) : nlohmann::json();
  object["wisdom_match"] = to_string(said.known.match);
  object["predicted_s"] = number_or_null(said.predicted_s);
  const RecordedTime& recorded = said.known.recorded;
  object["recorded_seconds"] = recorded.seconds > 0 ? nlohmann::json(recorded.seconds) : nlohmann::json();
  object["regret"] = recorded.seconds > 0 ? number_or_null(recorded.regret()) : nlohmann::json();
  return object;
}

std::vector<const BenchFamily*> bench_families(const ToolOperations& operations) {
  std::vector<const BenchFamily*> all;
  for (const ToolOperation* operation : operations)
    for (const BenchFamily* family : operation->bench_families()) all.push_back(family);
  for (const BenchFamily* family : other_families()) all.push_back(family);
  return all;
}

std::string family_names(const ToolOperations& operations) {
  std::vector<std::string> names;
  for (const BenchFamily* family : bench_families(operations)) names.emplace_back(family->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const BenchFamily& family_named(const ToolOperations& operations, const std::string& name) {
  for (const BenchFamily* family : bench_families(operations))
    if (name == family->name) return *family;
  wrong_use("FAMILY", "FAMILY = '{}' is not one of {}", name, family_names(operations));
}

FamilyFlags::FamilyFlags(const BenchFlags& flags) : FamilyFlags(flags, tool_operations()) {}

FamilyFlags::FamilyFlags(const BenchFlags& flags, const ToolOperations& operations)
    : BenchFlags(flags), is(family_named(operations, flags.family)) {}

std::string FamilyFlags::own_value(const std::string& name) const {
  if (const auto given = own.find(name); given != own.end()) return given->second;
  for (const auto& flag : is.own)
    if (name == flag.name) return flag.value;
  return "";
}

}  // namespace tilewright::cli
