// Records of the problems that programs multiplied: a readable record can be added to, and then read again.
#include <filesystem>

#include "core/input/checked.hpp"
#include "core/problem.hpp"
#include "core/record_log.hpp"
#include "target.hpp"

namespace tilewright::fuzz {

void one_input(const std::string& input) {
  const std::string path = file_of(input);
  const auto before = read_record(path);
  const GemmProblem p = parse_problem("gemm:f64:nn:m=4,n=4,k=4");
  const RecordedRuns runs{p, std::int64_t{1} << 62, 1e308};
  record_runs(path, {&runs, 1});
  const auto after = read_record(path);
  require(after.size() >= before.size() && after.size() <= before.size() + 1, "records stay");
  for (std::size_t i = 0; i < before.size(); ++i)
    require(after[i].count >= before[i].count && after[i].seconds >= before[i].seconds, "sums do not shrink");
}

std::vector<std::string> seeds() {
  const std::string line =
      R"({"count":9223372036854775807,"problem":"gemm:f64:nn:m=4,n=4,k=4","residency":"","seconds":1.5e308})";
  return {"", line + "\n",
          R"({"problem":"gemm:f32:tn:m=1,n=2,k=3","count":2,"seconds":0.5,"new":[{"a":null}]})"
          "\n" +
              line};
}

}  // namespace tilewright::fuzz
