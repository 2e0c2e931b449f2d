// Products and conversions as operations that are tuned: a problem with the family that serves it.
#pragma once

#include <functional>

#include "tune/family/family.hpp"

namespace tilewright {

// What a search of products is told besides the problems.
struct ProductTuning {
  FamilyList families = tune_families();
  ChoiceRules rules{};  // seeds are found for each problem
  // Configs of earlier runs for a problem of the family.
  std::function<std::vector<nlohmann::json>(const std::string& family, const GemmProblem&)> seeds{};
  // What was known as best before, of families that wisdom keeps nothing of; else the machine's wisdom says.
  std::function<std::optional<nlohmann::json>(const GemmProblem&)> known{};
};

// Levels around the innermost one are no matter of kernels, and a grouped batch stands for the pointer
// batches that it consists of. Throws Error for a problem that no family serves or an axis that does not
// exist. The machine must outlive the operation.
std::unique_ptr<Operation> product_operation(const GemmProblem& problem, TuneMachine& machine,
                                             const ProductTuning& how = {});
Operations product_operations(const std::vector<GemmProblem>& problems, TuneMachine& machine,
                              const ProductTuning& how = {});

}  // namespace tilewright
