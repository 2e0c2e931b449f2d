// Input from outside: JSON of any depth, size and number, unterminated lines, invalid text, errors of other
// libraries, arithmetic beyond 64 bits, and records whose sums are too large to be written.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "core/input/checked.hpp"
#include "core/input/failure.hpp"
#include "core/input/json_text.hpp"
#include "core/input/printable.hpp"
#include "core/problem.hpp"
#include "core/product/faults.hpp"
#include "core/record_log.hpp"
#include "support/temp_folder.hpp"
#include "tune/sweep_log.hpp"

namespace tilewright::testing {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::string fault_of(const std::string& text) {
  try {
    (void)parse_json(text);
  } catch (const NotJson& error) {
    EXPECT_TRUE(parse_json_or_discard(text).is_discarded());
    return error.what();
  }
  EXPECT_FALSE(parse_json_or_discard(text).is_discarded());
  return "";
}

TEST(JsonText, IsReadAsItStands) {
  const std::string text =
      R"({"a":[1,-2,3.5,true,null,"x\u00e4",{}],"b":{"c":{"d":[[]]}},"n":18446744073709551615})";
  EXPECT_EQ(parse_json(text), nlohmann::json::parse(text));
  EXPECT_EQ(parse_json("7"), 7);
}

TEST(JsonText, DeepNestingIsRefused) {
  const int deep = int(most_json_depth);
  EXPECT_EQ(fault_of(repeated("[", deep) + repeated("]", deep)), "");
  EXPECT_NE(fault_of(repeated("[", deep + 1) + repeated("]", deep + 1)), "");
  for (const char* open : {"[", "{\"a\":", "[{\"a\":"})
    EXPECT_EQ(fault_of(R"({"unknown":)" + repeated(open, 200000)),
              "arrays and objects are nested more than 64 deep");
}

TEST(JsonText, HugeAndBrokenTextsAreRefused) {
  EXPECT_NE(fault_of('"' + std::string(most_json_bytes, 'x') + '"'), "");
  EXPECT_EQ(fault_of(R"({"a":1,"b":2,"a":3})"), "the key 'a' is given twice");
  EXPECT_EQ(fault_of(R"([{"a":1},{"a":1}])"), "");
  for (const char* text : {"", "{", "{\"a\":1} x", "nan", "NaN", "[inf]", "1e999", "-1e999", "\"\xff\"",
                           "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "{1:2}", "'a'", "[1,]", "\"\x01\""})
    EXPECT_NE(fault_of(text), "") << text;
}

TEST(JsonText, IntegersAreThoseOf64Bits) {
  const auto count = [](const char* number) {
    return json_number<std::int64_t>(parse_json(std::string(R"({"count":)") + number + "}"), "count");
  };
  EXPECT_EQ(count("9223372036854775807"), largest);
  EXPECT_EQ(count("-9223372036854775808"), least);
  for (const char* wrong :
       {"9223372036854775808", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "1e30",
        "1e308", "-1e308", "1.5", "1.0", "true", "null", "\"1\"", "[]"})
    try {
      ADD_FAILURE() << wrong << " is read as " << count(wrong);
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), "count");
    }
  EXPECT_THROW((void)json_number<int>(parse_json(R"({"n":2147483648})"), "n"), Error);
  EXPECT_THROW((void)json_number<int>(parse_json("{}"), "n"), Error);
  EXPECT_EQ(json_number<double>(parse_json(R"({"s":2})"), "s"), 2);
}

TEST(JsonText, LinesEnd) {
  std::istringstream text("one\n\ntwo");
  std::string line;
  EXPECT_TRUE(next_line(text, line) && line == "one");
  EXPECT_TRUE(next_line(text, line) && line.empty() && !text.eof());
  EXPECT_TRUE(next_line(text, line) && line == "two" && text.eof());
  EXPECT_FALSE(next_line(text, line));
  std::ifstream endless("/dev/zero");
  EXPECT_TRUE(next_line(endless, line) && line.size() > most_json_bytes);
  EXPECT_THROW((void)parse_json(line), Error);
  EXPECT_FALSE(next_line(endless, line)) << "nothing more is read";
  std::ifstream folder("/tmp"), nothing("/nowhere");
  EXPECT_FALSE(next_line(folder, line));
  EXPECT_FALSE(next_line(nothing, line));
}

TEST(JsonText, WhatIsWrittenIsRead) {
  EXPECT_EQ(parse_json(json_line({{"path", "a\xff\n\x1b"}})),
            nlohmann::json({{"path", "a\xef\xbf\xbd\n\x1b"}}));
}

TEST(Printable, IsTextWithoutControl) {
  const std::pair<std::string, std::string> cases[] = {
      {"a 'b' \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\n\t",
       "a 'b' \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\n\t"},
      {"\x1b[2J\x07\x7f\r", "\\x1b[2J\\x07\\x7f\\x0d"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\xff\xc3", "\\xff\\xc3"},
      {"\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80", "\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80"},
      {"\xc2\x9b"
       "2J\xe2\x80\xae"
       "gpj",
       "\\u009b2J\\u202egpj"}};
  for (const auto& [text, shown] : cases) EXPECT_EQ(printable(text), shown);
  EXPECT_EQ(printable(std::string(10, 'x'), 3), "xxxx... (6 more bytes)");
}

template <class X>
Failure failure_of(const X& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return current_failure();
  }
}

TEST(Failures, AreTranslated) {
  namespace fs = std::filesystem;
  const auto missing = std::make_error_code(std::errc::no_such_file_or_directory);
  const auto check = [](const Failure& failure, ErrorCode code, const char* message) {
    EXPECT_EQ(failure.code, code);
    EXPECT_EQ(failure.message, message);
  };
  check(failure_of(Error(ErrorCode::io, "x", "x = '\x1b\xff' is wrong")), ErrorCode::io,
        "x = '\\x1b\\xff' is wrong");
  check(failure_of(std::bad_alloc()), ErrorCode::out_of_memory, "out of memory");
  check(failure_of(std::length_error("vector::_M_default_append")), ErrorCode::out_of_memory,
        "out of memory: a size is too large");
  check(failure_of(fs::filesystem_error("cannot do", "/a\nb", missing)), ErrorCode::io,
        "'/a\nb' cannot be used: No such file or directory");
  check(failure_of(std::system_error(EAGAIN, std::generic_category(), "thread")), ErrorCode::out_of_memory,
        "system error: Resource temporarily unavailable");
  EXPECT_EQ(failure_of(std::runtime_error("other")).code, ErrorCode::internal);
  try {
    (void)nlohmann::json(1).get<std::string>();
  } catch (...) {
    const Failure failure = current_failure();
    EXPECT_EQ(failure.code, ErrorCode::internal);
    EXPECT_EQ(failure.message.find("[json"), std::string::npos) << failure.message;
  }
  EXPECT_THROW(failure_of(5), int) << "what is no exception of a library is not ours to end";
}

TEST(Failures, OfTheSystemAndTheLoaderAreEnglish) {
  EXPECT_EQ(system_error_text(ENOENT), "No such file or directory");
  EXPECT_EQ(loader_error(), "");
  EXPECT_EQ(dlopen("/nowhere/lib\x1bx.so", RTLD_NOW), nullptr);
  EXPECT_EQ(loader_error(),
            "/nowhere/lib\\x1bx.so: cannot open shared object file: No such file or directory");
}

TEST(Checked, NothingWraps) {
  EXPECT_EQ(checked_product(3, -4), -12);
  EXPECT_EQ(checked_product(largest, 2), std::nullopt);
  EXPECT_EQ(checked_product(largest, 2, 0), std::nullopt);
  EXPECT_EQ(checked_product(least, -1), std::nullopt);
  EXPECT_EQ(saturating_product(largest, 2), largest);
  EXPECT_EQ(saturating_product(largest, -2), least);
  EXPECT_EQ(saturating_product(least, -1), largest);
  EXPECT_EQ(saturating_product(largest, 2, 0), 0);
  EXPECT_EQ(saturating_sum(largest, 1), largest);
  EXPECT_EQ(saturating_sum(least, std::int64_t{-1}), least);
  EXPECT_EQ(saturating_sum(1e308, 1e308), std::numeric_limits<double>::max());
  EXPECT_EQ(integer_of(9223372036854774784.0), 9223372036854774784);
  EXPECT_EQ(integer_of(-9223372036854775808.0), least);
  for (const double wrong : {9223372036854775808.0, 1e300, -1e19, 1.5, double(NAN), double(INFINITY)})
    EXPECT_EQ(integer_of(wrong), std::nullopt) << wrong;
}

// The text of a problem may contain any integers: it is read and written without an overflow, and a plan
// refuses it.
TEST(HugeProblems, AreReadWrittenAndRefused) {
  const std::string huge = std::to_string(largest), small = std::to_string(least);
  for (const std::string& x : {huge, small, std::string("3037000500"), std::string("4611686018427387904")})
    for (const std::string text :
         {"gemm:f64:nn:m=X,n=X,k=X", "gemm:c128:tt:m=X,n=1,k=1:lda=X:ldb=X:ldc=X",
          "gemm_batched:f32:nn:m=X,n=X,k=X:strided:batch=X",
          "gemm_batched:f32:nn:m=4,n=4,k=4:strided:batch=X:stride_c=X",
          "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=X:outer=X:outermost=X:outer_c=X",
          "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=0:outer=X:outermost=X:lda=X",
          "gemm_batched:f64:nt:m=X,n=4,k=4:pointer:batch=X",
          "gemm_batched:f64:nn:m=X,n=4,k=X:interleaved:batch=X",
          "gemm_batched:f64:nn:m=4,n=4,k=4:block_interleaved:batch=X:block=X:ldc=X",
          "gemm_batched:f64:nn:m=4,n=4,k=4:block_interleaved:batch=0:block=X:ldc=X",
          "gemm_batch_reduce:f64:nn:m=X,n=X,k=X:strided:batch=X",
          "gemm_stack:f64:nn:m=X,n=4,k=4:batch=X:run=X"}) {
      std::string asked = text;
      for (std::size_t at = 0; (at = asked.find('X')) != std::string::npos;) asked.replace(at, 1, x);
      SCOPED_TRACE(asked);
      const GemmProblem p = parse_problem(asked);
      EXPECT_EQ(parse_problem(to_string(p)), p);
      for (const double amount : {flops(p), bytes(p), footprint_bytes(p)}) EXPECT_FALSE(std::isnan(amount));
      (void)contiguous_a(p), (void)contiguous_b(p), (void)contiguous_c(p), (void)batch_levels(p);
      if (find_fault(p) == std::nullopt) (void)with_joined_levels(p);
      EXPECT_TRUE(find_fault(p).has_value() || (p.batch_count == 0 && p.lda < 1000) || x == "3037000500");
    }
  EXPECT_EQ(parse_lu_problem("lu:f64:m=9223372036854775807,n=1e18").m, largest);
  EXPECT_THROW((void)parse_lu_problem("lu:f64:m=9223372036854775808,n=1"), Error);
  EXPECT_THROW((void)parse_problem("gemm:f64:nn:m=1e19,n=1,k=1"), Error);
}

TEST(RecordLog, WhatIsWrittenCanBeReadAgain) {
  const TempFolder folder;
  const std::string path = (folder.path() / "log.jsonl").string();
  const GemmProblem p = parse_problem("gemm:f64:nn:m=4,n=4,k=4");
  constexpr double most_s = std::numeric_limits<double>::max();
  std::mt19937_64 random(44);
  const std::int64_t counts[] = {0, 1, largest - 1, largest, largest / 2};
  const double seconds[] = {0, 1e-9, 1, most_s / 2, most_s, std::numeric_limits<double>::denorm_min()};
  std::int64_t count = 0;
  double sum = 0;
  for (int i = 0; i < 60; ++i) {
    const RecordedRuns runs{p, counts[random() % std::size(counts)], seconds[random() % std::size(seconds)]};
    record_runs(path, {&runs, 1});
    count = saturating_sum(count, runs.count), sum = saturating_sum(sum, runs.seconds);
    const auto read = read_record(path);
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].count, count);
    EXPECT_EQ(read[0].seconds, sum);
    if (i % 20 == 19) std::filesystem::remove(path), count = 0, sum = 0;
  }
}

// Numbers that JSON does not have, and a compiler's messages in another encoding.
TEST(SweepLog, WhatIsWrittenCanBeReadAgain) {
  const TempFolder folder;
  const std::string path = (folder.path() / "sweep.jsonl").string();
  const nlohmann::json run{{"seed", 1}}, one{{"x", 1}}, other{{"x", 2}};
  Accuracy passed;
  passed.bound = INFINITY;
  {
    SweepLog log(path, run, false);
    log.add_turn("p", "s", one, {INFINITY, double(NAN)});
    log.add_passed("p", one, passed);
    log.add_failure("p", other, "\xff\x1b");
  }
  SweepLog log(path, run, true);
  EXPECT_EQ(log.kept(), 1);
  EXPECT_TRUE(std::isinf(log.passed("p", one.dump())->bound));
  EXPECT_EQ(log.failure("p", other.dump()), "\xef\xbf\xbd\x1b");
}

TEST(RecordLog, WhatCannotBeReadIsNotWritten) {
  const TempFolder folder;
  const std::string path = (folder.path() / "log.jsonl").string();
  const GemmProblem p = parse_problem("gemm:f64:nn:m=4,n=4,k=4");
  for (const RecordedRuns& wrong : {RecordedRuns{p, -1, 1}, {p, 1, -1}, {p, 1, INFINITY}, {p, 1, NAN}}) {
    const RecordedRuns both[] = {{p, 1, 1}, wrong};
    EXPECT_THROW(record_runs(path, both), Error);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST(RecordLog, HostileFilesAreRefusedWithTheirLine) {
  const TempFolder folder;
  const std::string path = (folder.path() / "log.jsonl").string();
  const std::string good = R"({"problem":"gemm:f64:nn:m=4,n=4,k=4","count":1,"seconds":1,"residency":"")";
  for (const std::string& line :
       {good + ",\"new\":" + repeated("[", 200000) + repeated("]", 200000) + "}", good + ",\"count\":2}",
        std::string(R"({"problem":"gemm:f64:nn:m=4,n=4,k=4","count":1e30,"seconds":1})"),
        std::string(R"({"problem":"gemm:f64:nn:m=4,n=4,k=4","count":1.5,"seconds":1})"),
        std::string(R"({"problem":"gemm:f64:nn:m=4,n=4,k=4","count":-1,"seconds":1})"),
        std::string(R"({"problem":"gemm:f64:nn:m=4,n=4,k=4","count":1,"seconds":null})"),
        std::string(R"({"problem":"gemm:f64:nn:m=4,n=4,k=4","count":1,"seconds":1e999})"),
        std::string(R"({"problem":7,"count":1,"seconds":1})"), std::string("[]"), std::string("\"\xff\"")}) {
    std::ofstream(path) << good << "}\n" << line << '\n';
    for (const bool writes : {false, true}) try {
        if (writes)
          record_run(path, parse_problem("gemm:f64:nn:m=4,n=4,k=4"), 1);
        else
          (void)read_record(path);
        ADD_FAILURE() << line.substr(0, 200);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::io);
        EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
      }
  }
}

}  // namespace
}  // namespace tilewright::testing
