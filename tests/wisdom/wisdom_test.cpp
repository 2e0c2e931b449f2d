// Wisdom: reading of JSON lines, exact and near lookups, their order, and what a malformed line says, and the
// same lookups over a database (the database itself is wisdom_store_test's). The
// devices and records are fictional; whether shipped records are any good is a matter of bench, not of this
// test.
#include "wisdom/wisdom.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "wisdom/families.hpp"
#include "wisdom/wisdom_files.hpp"

namespace tilewright {
namespace {

class WisdomTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::vector<std::string>& lines) {
    const std::string path = folder_ / name;
    std::ofstream stream(path);
    for (const auto& line : lines) stream << line << '\n';
    return path;
  }

  // A record whose nr tells the test which one was found.
  static std::string line(const std::string& problem, int nr, const std::string& device = "Abacus 1",
                          Isa isa = Isa::avx512) {
    GemmSmallCpuConfig config;
    config.isa = isa;
    config.nr = nr;
    return nlohmann::json{{"family", "gemm_small_cpu"},
                          {"problem", problem},
                          {"config", to_json(config)},
                          {"device", device},
                          {"seconds", 1e-6}}
        .dump();
  }

  static GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
    GemmProblem p;
    p.m = m;
    p.n = n;
    p.k = k;
    p.layout = Layout::strided;
    p.batch_count = 1000;
    p.residency = Residency::cold;
    return packed(p);
  }
  static std::string text(const GemmProblem& p) { return to_string(p); }

  TempFolder folder_;
};

TEST_F(WisdomTest, NothingIsReadBeforeTheFirstLookup) {
  const auto file = write("a.jsonl", {"this is no JSON"});
  const Wisdom wisdom({file}, "Abacus 1");
  EXPECT_THROW(lookup(wisdom, problem(8, 8, 8), Isa::avx512), Error);
}

TEST_F(WisdomTest, MissingFileIsEmpty) {
  const Wisdom wisdom({folder_ / "absent.jsonl"}, "Abacus 1");
  EXPECT_TRUE(lookup(wisdom, problem(8, 8, 8), Isa::avx512).empty());
  EXPECT_TRUE(wisdom.records().empty());
}

TEST_F(WisdomTest, ExactIgnoresBatchCountAndLeadingDimensions) {
  const auto file = write("a.jsonl", {"", line(text(problem(8, 8, 8)), 7)});
  const Wisdom wisdom({file}, "Abacus 1");
  auto asked = problem(8, 8, 8);
  asked.batch_count = 77;
  asked.lda = 20;
  asked.stride_a = 160;
  const auto hits = lookup(wisdom, asked, Isa::avx512);
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].match, WisdomMatch::exact);
  EXPECT_EQ(hits[0].config.nr, 7);
  EXPECT_EQ(hits[0].source, file + ":2");
}

TEST_F(WisdomTest, KindMustAgree) {
  const auto file = write("a.jsonl", {line(text(problem(8, 8, 8)), 1)});
  const Wisdom wisdom({file}, "Abacus 1");
  const auto found = [&](const GemmProblem& p, Isa isa = Isa::avx512) {
    return !lookup(wisdom, p, isa).empty();
  };
  EXPECT_TRUE(found(problem(8, 8, 8)));
  EXPECT_FALSE(found(problem(8, 8, 8), Isa::avx2));
  auto p = problem(8, 8, 8);
  p.dtype = DType::f32;
  EXPECT_FALSE(found(p));
  p = problem(8, 8, 8);
  p.op_b = Op::trans;
  EXPECT_FALSE(found(p));
  p = problem(8, 8, 8);
  p.beta = Scalar::one;
  EXPECT_FALSE(found(p));
  p = problem(8, 8, 8);
  p.residency = Residency::l2;
  EXPECT_FALSE(found(p));
  p = problem(8, 8, 8);
  p.layout = Layout::block_interleaved;
  p.block = 8;
  EXPECT_FALSE(found(p));
}

// dgemm('C') is dgemm('T'), zgemm('C') is not zgemm('T').
TEST_F(WisdomTest, RealNumbersHaveNoConjugate) {
  auto trans = problem(8, 8, 8);
  trans.op_a = Op::trans;
  auto conj = trans;
  conj.op_a = Op::conj_trans;
  auto complex = trans;
  complex.dtype = DType::c128;
  const auto file = write("a.jsonl", {line(text(trans), 1), line(text(complex), 2)});
  const Wisdom wisdom({file}, "Abacus 1");
  ASSERT_EQ(lookup(wisdom, conj, Isa::avx512).size(), 1u);
  EXPECT_EQ(lookup(wisdom, conj, Isa::avx512)[0].match, WisdomMatch::exact);
  conj.m = 9;
  ASSERT_EQ(lookup(wisdom, conj, Isa::avx512).size(), 1u);
  EXPECT_EQ(lookup(wisdom, conj, Isa::avx512)[0].match, WisdomMatch::near_shape);
  complex.op_a = Op::conj_trans;
  EXPECT_TRUE(lookup(wisdom, complex, Isa::avx512).empty());
}

TEST_F(WisdomTest, NearestShapePrefersTheSameTail) {
  // 22 leaves 6 rows beyond whole vectors of 8 doubles, as 14 does; 16 and 20 leave 0 and 4.
  const auto file = write("a.jsonl", {line(text(problem(16, 8, 8)), 1), line(text(problem(20, 8, 8)), 2),
                                      line(text(problem(14, 8, 8)), 3), line(text(problem(60, 8, 8)), 4)});
  const Wisdom wisdom({file}, "Abacus 1");
  const auto hits = lookup(wisdom, problem(22, 8, 8), Isa::avx512);
  ASSERT_EQ(hits.size(), 3u);  // 60 is outside the radius
  EXPECT_EQ(hits[0].match, WisdomMatch::near_shape);
  EXPECT_EQ(hits[0].config.nr, 2);  // ln(22/20) + tail penalty < ln(22/14)
  EXPECT_EQ(hits[1].config.nr, 3);  // ln(22/14) without penalty < ln(22/16) with it
  EXPECT_EQ(hits[2].config.nr, 1);
}

TEST_F(WisdomTest, OrderIsExactThenNearShapeThenOtherDevices) {
  const auto file = write(
      "a.jsonl", {line(text(problem(9, 9, 9)), 1, "Babbage 2"), line(text(problem(8, 8, 8)), 2, "Babbage 2"),
                  line(text(problem(9, 9, 9)), 3), line(text(problem(8, 8, 8)), 4)});
  const Wisdom wisdom({file}, "Abacus 1");
  const auto hits = lookup(wisdom, problem(8, 8, 8), Isa::avx512);
  ASSERT_EQ(hits.size(), 4u);
  EXPECT_EQ(hits[0].config.nr, 4);
  EXPECT_EQ(hits[0].match, WisdomMatch::exact);
  EXPECT_EQ(hits[1].config.nr, 3);
  EXPECT_EQ(hits[1].match, WisdomMatch::near_shape);
  EXPECT_EQ(hits[2].config.nr, 2);  // another device: the same shape before a near one
  EXPECT_EQ(hits[2].match, WisdomMatch::near_device);
  EXPECT_EQ(hits[3].config.nr, 1);
  EXPECT_EQ(hits[3].match, WisdomMatch::near_device);
}

TEST_F(WisdomTest, GenerationsOfOneBrandAreToldApart) {
  const std::string brand = "Intel(R) Xeon(R) Processor", own = brand + " (family 6, model 143, stepping 8)";
  const std::string generation = brand + " (family 6, model 143)";
  EXPECT_TRUE(is_same_device(own, own));
  EXPECT_TRUE(is_same_device(own, generation)) << "of any stepping";
  EXPECT_TRUE(is_same_device(own, brand + " (family 6)"));
  EXPECT_FALSE(is_same_device(own, brand + " (family 6, model 14)"));
  EXPECT_FALSE(is_same_device(own, brand)) << "clouds show it for every generation";
  EXPECT_FALSE(is_same_device(generation, own)) << "a name that says more is another";
  EXPECT_FALSE(is_same_device(own, brand + " (family 6, model 207, stepping 2)"));
  EXPECT_FALSE(is_same_device("AMD EPYC 9654", "AMD EPYC"));
  const auto p = text(problem(8, 8, 8));
  const auto file = write("a.jsonl", {line(p, 1, generation), line(p, 2, own),
                                      line(p, 3, brand + " (family 6, model 207, stepping 2)")});
  const auto hits = lookup(Wisdom({file}, own), problem(8, 8, 8), Isa::avx512);
  ASSERT_EQ(hits.size(), 3u);
  EXPECT_EQ(hits[0].config.nr, 2);
  EXPECT_EQ(hits[1].config.nr, 1);
  EXPECT_EQ(hits[1].match, WisdomMatch::exact);
  EXPECT_EQ(hits[2].config.nr, 3);
  EXPECT_EQ(hits[2].match, WisdomMatch::near_device);
}

TEST_F(WisdomTest, CachesAndBetaStandInForEachOther) {
  auto l2 = problem(8, 8, 8);
  l2.residency = Residency::l2;
  l2.beta = Scalar::one;
  const auto file = write("a.jsonl", {line(text(l2), 5)});
  const Wisdom wisdom({file}, "Abacus 1");
  auto asked = l2;
  asked.residency = Residency::l1;
  auto hits = lookup(wisdom, asked, Isa::avx512);
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].match, WisdomMatch::near_shape);
  asked = l2;
  asked.beta = Scalar::general;
  hits = lookup(wisdom, asked, Isa::avx512);
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].match, WisdomMatch::near_shape);
}

TEST_F(WisdomTest, EqualBlockIsExactAndAnotherBlockIsNear) {
  auto p = problem(4, 4, 4);
  p.layout = Layout::block_interleaved;
  p.stride_a = p.stride_b = p.stride_c = 0;
  p.block = 8;
  auto other = p;
  other.block = 16;
  const auto file = write("a.jsonl", {line(text(other), 16), line(text(p), 8)});
  const Wisdom wisdom({file}, "Abacus 1");
  const auto hits = lookup(wisdom, p, Isa::avx512);
  ASSERT_EQ(hits.size(), 2u);
  EXPECT_EQ(hits[0].match, WisdomMatch::exact);
  EXPECT_EQ(hits[0].config.nr, 8);
  EXPECT_EQ(hits[1].match, WisdomMatch::near_shape);
  p.block = 4;  // half a vector of 64 bytes
  EXPECT_TRUE(lookup(wisdom, p, Isa::avx512).empty());
}

TEST_F(WisdomTest, OnDevicesRecordsOfLikeColumnsAndCountsComeFirst) {
  auto many = problem(8, 8, 8);
  many.location = Location::device;
  many.batch_count = 1000000;
  auto few = many, padded = many;
  few.batch_count = 10;
  padded.lda = padded.ldb = padded.ldc = 11;
  padded.stride_a = padded.stride_b = padded.stride_c = 88;
  const auto file = write("a.jsonl", {line(text(many), 1), line(text(few), 2), line(text(padded), 3)});
  const Wisdom wisdom({file}, "Abacus 1");
  const auto best = [&](GemmProblem p, std::int64_t count) {
    p.batch_count = count;
    const auto hits = lookup(wisdom, p, Isa::avx512);
    EXPECT_EQ(hits.size(), 3u);
    return hits.empty() ? 0 : hits[0].config.nr;
  };
  EXPECT_EQ(best(many, 800000), 1);
  EXPECT_EQ(best(many, 20), 2);
  EXPECT_EQ(best(padded, 900000), 3);
}

TEST_F(WisdomTest, FirstFileAndLaterLineWin) {
  const auto p = text(problem(8, 8, 8));
  const auto first = write("first.jsonl", {line(p, 1), line(p, 2)});
  const auto second = write("second.jsonl", {line(p, 3)});
  const Wisdom wisdom({first, second}, "Abacus 1");
  const auto hits = lookup(wisdom, problem(8, 8, 8), Isa::avx512);
  ASSERT_EQ(hits.size(), 3u);
  EXPECT_EQ(hits[0].config.nr, 2);
  EXPECT_EQ(hits[1].config.nr, 1);
  EXPECT_EQ(hits[2].config.nr, 3);
}

TEST_F(WisdomTest, EqualConfigsAreReturnedOnceAndAtMostEight) {
  std::vector<std::string> lines;
  for (int nr = 1; nr <= 20; ++nr) {
    lines.push_back(line(text(problem(8, 8, 8)), nr));
    lines.push_back(line(text(problem(8, 8, 8)), nr));
  }
  const Wisdom wisdom({write("a.jsonl", lines)}, "Abacus 1");
  const auto hits = lookup(wisdom, problem(8, 8, 8), Isa::avx512);
  ASSERT_EQ(hits.size(), 8u);
  for (std::size_t i = 0; i < hits.size(); ++i) EXPECT_EQ(hits[i].config.nr, 20 - static_cast<int>(i));
}

TEST_F(WisdomTest, OtherFamiliesAndRunHeadersAreSkipped) {
  const auto file =
      write("a.jsonl", {R"({"command": "tilewright tune"})", R"({"family": "potrf", "problem": "x"})",
                        R"({"summary": true, "family": "gemm_small_cpu"})", line(text(problem(8, 8, 8)), 1)});
  const Wisdom wisdom({file}, "Abacus 1");
  ASSERT_EQ(wisdom.records().size(), 1u);
  EXPECT_EQ(wisdom.records()[0].device, "Abacus 1");
  EXPECT_EQ(wisdom.records()[0].seconds, 1e-6);
  EXPECT_EQ(lookup(wisdom, problem(8, 8, 8), Isa::avx512).size(), 1u);
}

TEST_F(WisdomTest, RecordsOfEmulatedMathAndOfOtherOperationsAreApart) {
  const std::string full = text(problem(8, 8, 8)), emulated = full + ":math=emulated";
  auto other = nlohmann::json::parse(line("lu:f64:m=64,n=64", 3));
  other["family"] = "lu_panel";
  auto known_family = nlohmann::json::parse(line("potrf:f64:n=64", 4));
  const auto file = write("a.jsonl", {line(full, 1), line(emulated, 2), other.dump(), known_family.dump()});
  const Wisdom wisdom({file}, "Abacus 1");
  const auto records = wisdom.records();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(to_json(records[2]).at("config"), other.at("config"));
  EXPECT_EQ(records[3].problem, "potrf:f64:n=64");
  WisdomQuery query{"gemm_small_cpu", "avx512", problem(8, 8, 8), "time", "Abacus 1"};
  const auto nrs = [&] {
    std::vector<int> found;
    wisdom.offer(query, [&](const WisdomAnswer& answer) {
      found.push_back(answer.config.at("nr"));
      return false;
    });
    return found;
  };
  EXPECT_EQ(nrs(), std::vector<int>{1});
  query.math = "emulated";
  EXPECT_EQ(nrs(), std::vector<int>{2});
  query.problem.m = 9;
  EXPECT_EQ(nrs(), std::vector<int>{2}) << "as a near shape";
  query.operation = "lu";
  EXPECT_EQ(nrs(), std::vector<int>{});
}

TEST_F(WisdomTest, HashesOfEarlierBuildsWithTheSameCodeAreTodays) {
  auto old = nlohmann::json::parse(line(text(problem(8, 8, 8)), 1));
  old["source_hash"] = "3c6df4eac6cab0cf";
  EXPECT_EQ(record_of_line(old).value().source_hash, current_source_hash("gemm_small_cpu"));
  old["source_hash"] = "44d4ea9828facc26";  // of another family
  EXPECT_EQ(record_of_line(old).value().source_hash, "44d4ea9828facc26");
}

TEST_F(WisdomTest, WrongConfigsAreSkipped) {
  auto failed = nlohmann::json::parse(line(text(problem(8, 8, 8)), 1));
  failed["verdict"] = "failed";
  auto passed = nlohmann::json::parse(line(text(problem(8, 8, 8)), 2));
  passed["verdict"] = "passed";
  const Wisdom wisdom({write("a.jsonl", {failed.dump(), passed.dump()})}, "Abacus 1");
  const auto hits = lookup(wisdom, problem(8, 8, 8), Isa::avx512);
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].config.nr, 2);
  EXPECT_EQ(wisdom.records().size(), 2u);  // a list shows the warning too
}

TEST_F(WisdomTest, MalformedLinesAreNamed) {
  const std::vector<std::string> bad = {
      "{",
      "[]",
      R"({"problem": "gemm:f64:nn:m=8,n=8,k=8"})",
      R"({"family": "gemm_small_cpu", "problem": "gemm:f65:nn:m=8,n=8,k=8", "config": {}, "device": "x"})",
      R"({"family": "gemm_small_cpu", "problem": "gemm:f64:nn:m=8,n=8,k=8", "device": "x"})",
      R"({"family": "gemm_small_cpu", "problem": "gemm:f64:nn:m=8,n=8,k=8", "config": {"no": 1}, "device": "x"})",
      R"({"family": "gemm_small_cpu", "problem": "gemm:f64:nn:m=8,n=8,k=8", "config": {"nr": "x"}, "device": "x"})",
      R"({"family": "gemm_small_cpu", "problem": "gemm:f64:nn:m=8,n=8,k=8", "config": {}})",
      R"({"family": "gemm_small_cpu", "problem": "gemm:f64:nn:m=8,n=8,k=8", "config": {}, "device": "x", "seconds": "1"})",
      R"({"family": "gemm_small_cpu", "problem": "gemm:f64:nn:m=8,n=8,k=8", "config": {}, "device": "x", "metrics": 1})"};
  for (const auto& text_of_line : bad) {
    const auto file = write("bad.jsonl", {line(text(problem(8, 8, 8)), 1), text_of_line});
    const Wisdom wisdom({file}, "Abacus 1");
    for (int attempt = 0; attempt < 2; ++attempt) {  // a failed read is not taken for an empty file later
      try {
        (void)wisdom.records();
        ADD_FAILURE() << "accepted " << text_of_line;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::io);
        EXPECT_NE(std::string(error.what()).find(file + "': line 2 is invalid"), std::string::npos)
            << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
