// Files that other people hand out as a wisdom database: whatever their bytes are, reading them ends, with
// records or an error.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/problem.hpp"
#include "target.hpp"
#include "wisdom/store.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::fuzz {

void one_input(const std::string& input) {
  const std::string path = file_of(input);
  const Wisdom wisdom({WisdomFile(path)}, "a CPU");
  WisdomQuery query;
  query.family = "gemm_small_cpu", query.architecture = "avx512", query.objective = "time";
  query.problem = parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1");
  (void)wisdom.offer(query, [](const WisdomAnswer&) { return false; });
  (void)wisdom.records();
  (void)wisdom.models();
}

// A new database of this version without records.
std::vector<std::string> seeds() {
  const std::string path = file_of("");
  std::filesystem::remove(path);
  { const WisdomStore store(path, sqlite::Mode::write); }
  std::ifstream file(path, std::ios::binary);
  return {std::string(std::istreambuf_iterator<char>(file), {}), "SQLite format 3"};
}

}  // namespace tilewright::fuzz
