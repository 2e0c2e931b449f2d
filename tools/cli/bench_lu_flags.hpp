// The flags that only bench lu has: panels and selections to try.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "bench/case.hpp"
#include "lists.hpp"

namespace tilewright::cli {

struct BenchLuFlags {
  std::string selects = "panel,square,flops";
  std::string panels = "auto";  // value of --nb
  std::string simulated_gpu;    // "": no simulation
};

void add_lu_flags(CLI::App& verb, BenchLuFlags& flags);

// Throws Error(invalid_argument) naming the flag and its value, also for a panel wider than every size.
bench::LuTrials lu_trials(const BenchLuFlags& flags, const std::vector<Size>& sizes);

}  // namespace tilewright::cli
