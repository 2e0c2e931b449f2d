// What `bench layout` measures of one case, on whichever machine: the parts of a converted multiplication,
// multiplying where the data are, and the costs that the conversion rule takes. How they are told is here as
// well; how they are measured is bench_layout.cpp's on the host and gpu_bench_layout.cpp's on a GPU.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench_cases.hpp"
#include "json_lines.hpp"
#include "kernel/layout/layout.hpp"
#include "measure/estimate.hpp"

namespace tilewright::cli {

struct LayoutPart {
  std::string what;  // convert_in, convert_out, direct, interleaved or converted (the three in turn)
  std::string impl, version;
  Estimate seconds;                                // of one batch
  nlohmann::json keys = nlohmann::json::object();  // of its row, beside those that every row has
  nlohmann::json metrics = nlohmann::json::object();
};

struct LayoutResult {
  BenchCase bench_case;
  std::vector<LayoutPart> parts;  // ours, the fastest of those of one name first, then the best peer
  LayoutCosts costs;
  nlohmann::json provenance = nlohmann::json::object();  // what of it is not the host's
  std::vector<std::string> notes;                        // for people

  const LayoutPart* find(const std::string& what, bool ours = true) const;
};

// The machine that cases are measured on; `device` is the name under which its costs are kept.
struct LayoutBench {
  std::string device;
  std::function<LayoutResult(const BenchCase&)> measure;
};
LayoutBench host_layout_bench(const BenchPlan& plan);
// Throws Error(unsupported) where there is no GPU or no runtime for one in this build.
LayoutBench gpu_layout_bench(const BenchPlan& plan);

// The costs of one problem that follow from the seconds of a batch, of which `share` is one problem's.
LayoutCosts layout_costs(const LayoutResult& result, std::int64_t block, double share);

std::string layout_table_head();
std::string layout_table_line(const LayoutResult& result);
// A row per part, then the record that `explain` computes thresholds from.
void write_layout(JsonLines& lines, const LayoutResult& result);

}  // namespace tilewright::cli
