// Files of JSON lines, each read by the reader that the first byte selects: wisdom that others hand out, and
// recorded sweeps.
#include <filesystem>

#include "analyze/replay.hpp"
#include "core/input/json_text.hpp"
#include "core/problem.hpp"
#include "target.hpp"
#include "wisdom/record.hpp"
#include "wisdom/source.hpp"

namespace tilewright::fuzz {
namespace {

const char* const wisdom_line =
    R"({"config":{"isa":"avx512"},"device":"a CPU","family":"gemm_small_cpu","objective":"time",)"
    R"("problem":"gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1","samples":9,"seconds":1e-8,)"
    R"("seconds_low":1e-8,"seconds_high":2e-8,"source_hash":"0","time":"2026-11-28","verdict":"passed"})";

void read_wisdom(const std::string& path) {
  const auto lines = open_lines(path);
  WisdomQuery query;
  query.family = "gemm_small_cpu", query.architecture = "avx512", query.objective = "time";
  query.problem = parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1");
  for (const WisdomStage stage : {WisdomStage::exact, WisdomStage::near_shape}) {
    ShapeSearch search(query, stage);
    search.add(lines->shapes(query), 0);
    while (const auto found = search.next()) (void)lines->fetch(found->shape->number);
  }
  lines->each_model([](const FittedModel& model) { (void)json_line(to_json(model)); });
  lines->each([](const WisdomRecord& record) {
    const std::string line = json_line(to_json(record));
    const auto again = parse_record(line);
    require(again && json_line(to_json(*again)) == line, "a record that is written is read as it was");
  });
}

}  // namespace

void one_input(const std::string& input) {
  if (input.empty()) return;
  const std::string path = file_of(std::string_view(input).substr(1));
  if (input[0] == 's')
    (void)Replay::read(path);
  else
    read_wisdom(path);
}

std::vector<std::string> seeds() {
  return {
      std::string("w") + wisdom_line,
      R"(w{"config":{"architecture":5},"device":"a CPU","family":"new","problem":"new:f64:n=4","verdict":"passed"})",
      R"(w{"model":"gemm_host","device":"a CPU","coefficients":{"rate":1e9}})",
      R"(s{"problem":"gemm:f64:nn:m=4,n=4,k=4","base":{"a":1},"config":{"b":2},"seconds":1,"joules":2})"};
}

}  // namespace tilewright::fuzz
