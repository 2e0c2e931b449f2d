// GemmProblem: its canonical text in both directions, its work and bytes, and its place in memory.
#include "core/problem.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "core/env.hpp"
#include "device/arm_core.hpp"
#include "device/cpu.hpp"

namespace tilewright {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse_problem(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.argument(), "problem");
    return error.what();
  }
  ADD_FAILURE() << "'" << text << "' was accepted";
  return {};
}

TEST(ProblemText, CanonicalExamples) {
  for (const char* text :
       {"gemm:f64:nn:m=4096,n=4096,k=4096", "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000000",
        "gemm_batched:c128:tc:m=5,n=13,k=23:pointer:batch=7:lda=30:alpha=general:beta=one",
        "gemm_batched:f32:nt:m=4,n=4,k=4:block_interleaved:batch=100:block=16:residency=l2",
        "gemm:f32:nn:m=3,n=4,k=5:residency=cold:arrival=idle:location=device",
        "gemm_batched:f32:nn:m=4,n=4,k=4:interleaved:batch=100",
        "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=9:stride_a=0:beta=general",
        "gemm_batched:f64:nt:m=9,n=9,k=9:strided:batch=900:lda=81:stride_a=9:stride_b=0:outer=100:outer_a="
        "729",
        "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=24:outer=2:outer_b=0:outermost=3:outermost_c=100",
        "gemm:f64:nn:m=2,n=2,k=2:location=device"})
    EXPECT_EQ(to_string(parse_problem(text)), text);
}

TEST(ProblemText, FillsPackedValues) {
  const GemmProblem p = parse_problem("gemm_batched:f64:tn:m=8,n=6,k=5:strided:batch=1e6:ldc=10");
  EXPECT_EQ(p.batch_count, 1000000);
  EXPECT_EQ(p.lda, 5);
  EXPECT_EQ(p.ldb, 5);
  EXPECT_EQ(p.ldc, 10);
  EXPECT_EQ(p.stride_a, 40);
  EXPECT_EQ(p.stride_b, 30);
  EXPECT_EQ(p.stride_c, 60);
}

TEST(ProblemText, PartsInAnyOrder) {
  EXPECT_EQ(parse_problem("gemm_batched:f64:nn:k=3,m=1,n=2:beta=1:batch=5:lda=7:pointer"),
            parse_problem("gemm_batched:f64:nn:m=1,n=2,k=3:pointer:lda=7:batch=5:beta=one"));
}

TEST(ProblemText, RoundTripOfRandomProblems) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto up_to = [&](int last) { return std::uniform_int_distribution<int>(0, last)(random); };
  for (int i = 0; i < 2000; ++i) {
    GemmProblem p;
    p.dtype = DType(up_to(3));
    p.op_a = Op(up_to(2));
    p.op_b = Op(up_to(2));
    p.m = up_to(9), p.n = up_to(9), p.k = up_to(9);
    p.layout = Layout(up_to(6));
    if (p.layout != Layout::single) p.batch_count = up_to(20);
    if (p.layout == Layout::block_interleaved) p.block = 1 + up_to(15);
    p = packed(p);
    if (up_to(1)) p.lda += up_to(3), p.ldb += up_to(3), p.ldc += up_to(3);
    if (p.layout == Layout::strided) p.stride_a = up_to(2) * 100, p.stride_c += up_to(5);
    if (p.layout == Layout::strided && up_to(1)) {
      p.outer_count = 1 + up_to(3), p.outermost_count = 1 + up_to(2);
      p.batch_count *= p.outer_count * p.outermost_count;
      p = packed(p);
      if (p.outer_count > 1) p.outer_a = up_to(2) * 77, p.outer_c += up_to(2);
      if (p.outermost_count > 1) p.outermost_b = up_to(2) * 66;
    }
    p.alpha = Scalar(up_to(2));
    p.beta = Scalar(up_to(2));
    p.residency = Residency(up_to(3));
    p.arrival = Arrival(up_to(1));
    p.location = Location(up_to(1));
    EXPECT_EQ(parse_problem(to_string(p)), p) << to_string(p);
  }
}

TEST(ProblemText, NamesTheBadPart) {
  const auto names = [](const std::string& text, const std::string& part) {
    EXPECT_NE(error_of(text).find(part), std::string::npos) << error_of(text);
  };
  names("gem:f64:nn:m=1,n=1,k=1", "'gem'");
  names("gemm:f16:nn:m=1,n=1,k=1", "'f16'");
  names("gemm:f64:nx:m=1,n=1,k=1", "'x'");
  names("gemm:f64:nn:m=1,n=1", "k=");
  names("gemm:f64:nn:m=1,n=1,k=1,k=2", "'k=2'");
  names("gemm:f64:nn:m=1.5,n=1,k=1", "'m=1.5'");
  names("gemm:f64:nn:m=1,n=1,k=99999999999999999999", "'k=99999999999999999999'");
  names("gemm:f64:nn:m=1,n=1,k=1:strided", "'strided'");
  names("gemm:f64:nn:m=1,n=1,k=1:batch=2", "'batch=2'");
  names("gemm_batched:f64:nn:m=1,n=1,k=1:stridden:batch=2", "'stridden'");
  names("gemm_batched:f64:nn:m=1,n=1,k=1:strided:batch=x", "'batch=x'");
  names("gemm_batched:f64:nn:m=1,n=1,k=1:strided:batch=1:beta=2", "'2'");
  names("gemm_batched:f64:nn:m=1,n=1,k=1:strided:batch=1:colour=red", "'colour' is not a key of a problem");
  names("gemm_batched:f64:nn:m=1,n=1,k=1:strided:batch=1:block=4", "'block'");
  names("gemm_batched:f64:nn:m=1,n=1,k=1:pointer:batch=1:stride_a=4", "'stride_a'");
  names("gemm_stack:f64:nn:m=1,n=1,k=1:pointer", "'pointer'");
  names("gemm_stack:f64:nn:m=1,n=1,k=1:stride_a=4", "'stride_a'");
  names("gemm_batch_reduce:f64:nn:m=1,n=1,k=1:stride_c=4", "'stride_c'");
  names("gemm_batch_reduce:f64:nn:m=1,n=1,k=1:interleaved", "'interleaved'");
  names("gemm_batched:f64:nn:m=1,n=1,k=1:run=4", "'run'");
  names("gemm:f64:nn", "four parts");
}

TEST(ProblemText, ATextOfAnotherOperationIsNamed) {
  try {
    parse_problem("lu:f64:m=4,n=4");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'lu' is not a valid family of products"), std::string::npos)
        << error.what();
  }
  EXPECT_NE(error_of("qr:f64:m=4,n=4")
                .find("'qr' is not a valid family (expected one of gemm, gemm_batched, gemm_batch_reduce, "
                      "gemm_stack, lu)"),
            std::string::npos);
}

// Every reader of the text refuses unsupported words by their own message, not as misspelt words.
TEST(ProblemText, WhatIsNotBuiltIsRefusedAsSuch) {
  const auto check = [](const std::string& text, auto&& parse,
                        const char* reason = "is not implemented in this version") {
    try {
      parse(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << text;
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  };
  for (const std::string name : {"potrf", "getrf", "inv", "det", "ormqr", "gesvd"}) {
    const std::string reason = "'" + name + "' is a routine of batches, and texts name products and LU",
                      text = name + ":f64:n=4,batch=5",
                      advice = "`tilewright factor " + name + " A.npy -o X.npy --explain` explains it";
    for (const std::string& part : {reason, advice}) {
      check(text, parse_problem, part.c_str());
      check(text, parse_lu_problem, part.c_str());
    }
  }
  for (const char* text : {"gemm:f64:nn:m=8,n=8,k=8:math=emulated", "gemm:f64:nn:m=8,n=8,k=8:bits=fixed",
                           "gemm:f64:nn:m=8,n=8,k=8:lda=9:error_budget=1e-9"})
    check(text, parse_problem);
  check("lu:f64:m=8,n=8:math=emulated", parse_lu_problem);
  for (const char* text : {"potrf2:f64:n=8", "gemm:f64:nn:m=8,n=8,k=8:math=fulll"}) {
    try {
      parse_problem(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << text;
    }
  }
}

TEST(ProblemText, ShowsTheRightSpelling) {
  const auto shows = [](const std::string& text, const std::string& right) {
    EXPECT_NE(error_of(text).find(right), std::string::npos) << error_of(text);
  };
  shows("gemm:f64:nn:m=8,n=8,k=8,lda=9", "m=4,n=5,k=6:lda=9");
  shows("gemm_batched:f64:nn:m=8,n=8,k=8,batch=9", ":batch=9");
  shows("gemm:f64:nn:m=8,n=8,k=8:lda=9,ldb=9", ":lda=8:ldb=8");
  shows("gemm:f64:nn:m=8:n=8:k=8", "m=4,n=5,k=6");
  shows("gemm:f64", "gemm:f64:nn:m=4,n=5,k=6");
}

// The examples of the page can be read, and it names every key.
TEST(ProblemText, PageIsRight) {
  std::ifstream page(std::string(TILEWRIGHT_SOURCE_DIR) + "/docs/problem.md");
  int examples = 0;
  std::string all;
  for (std::string line; std::getline(page, line); all += line + "\n")
    if (line.starts_with("    gemm")) {
      const std::string text = line.substr(4);
      EXPECT_NO_THROW(parse_problem(text)) << text;
      ++examples;
    }
  EXPECT_EQ(examples, 10);
  const std::string unknown = error_of("gemm:f64:nn:m=1,n=1,k=1:colour=red");
  std::istringstream keys(unknown.substr(unknown.rfind("one of ") + 7));
  for (std::string key; std::getline(keys >> std::ws, key, ',');) {
    if (key.ends_with(')')) key.pop_back();
    EXPECT_NE(all.find("`" + key + "`"), std::string::npos) << key;
  }
}

TEST(Problem, FlopsAndBytes) {
  GemmProblem p = parse_problem("gemm_batched:f64:nn:m=2,n=3,k=4:strided:batch=10");
  EXPECT_EQ(flops(p), 480);
  EXPECT_EQ(bytes(p), 10 * 8 * (8 + 12 + 6));
  p.beta = Scalar::one;
  EXPECT_EQ(bytes(p), 10 * 8 * (8 + 12 + 12));
  p.stride_a = 0;
  EXPECT_EQ(bytes(p), 8 * 8 + 10 * 8 * (12 + 12));
  p.dtype = DType::c64;
  EXPECT_EQ(flops(p), 1920);
  p.alpha = Scalar::zero;
  EXPECT_EQ(flops(p), 0);
  EXPECT_EQ(bytes(p), 10 * 8 * 12);
  p.batch_count = 0;
  EXPECT_EQ(bytes(p), 0);
}

TEST(Problem, SumsCountEachCOnce) {
  for (const char* text : {"gemm_stack:f32:tn:m=2,n=3,k=4:batch=10:run=4:beta=one",
                           "gemm_batch_reduce:c64:nc:m=2,n=3,k=4:strided:batch=10:lda=7:stride_a=90",
                           "gemm_batch_reduce:f64:nn:m=2,n=3,k=4:pointer:batch=10:alpha=general"})
    EXPECT_EQ(to_string(parse_problem(text)), text);
  GemmProblem p = parse_problem("gemm_stack:f64:nn:m=2,n=3,k=4:batch=10:run=4:beta=one");
  EXPECT_EQ(flops(p), 480);
  EXPECT_EQ(bytes(p), 8 * (10 * (8 + 12) + 3 * 12));
  p.batch_count = 0;
  EXPECT_EQ(bytes(p), 0);
  p = parse_problem("gemm_batch_reduce:f64:nn:m=2,n=3,k=4:batch=10");
  EXPECT_EQ(bytes(p), 8 * (10 * (8 + 12) + 6));
}

TEST(Problem, WorkOfHugeProblemsDoesNotWrap) {
  const GemmProblem p = parse_problem("gemm_batched:f64:nn:m=64,n=64,k=64:strided:batch=1e14");
  EXPECT_DOUBLE_EQ(flops(p), 2.0 * 64 * 64 * 64 * 1e14);
  EXPECT_NO_THROW(parse_problem("gemm_batched:f64:nn:m=9e18,n=9e18,k=9e18:strided:batch=9e18"));
}

TEST(Problem, ContiguousAndFootprint) {
  GemmProblem p = parse_problem("gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=10");
  EXPECT_TRUE(contiguous_a(p) && contiguous_b(p) && contiguous_c(p));
  EXPECT_EQ(footprint_bytes(p), 3 * 10 * 128);
  p.stride_a = 20;
  EXPECT_FALSE(contiguous_a(p));
  EXPECT_EQ(footprint_bytes(p), (9 * 20 + 16) * 8 + 2 * 10 * 128);
  p.stride_a = 0;
  EXPECT_FALSE(contiguous_a(p));
  EXPECT_EQ(footprint_bytes(p), 128 + 2 * 10 * 128);
  EXPECT_FALSE(contiguous_c(parse_problem("gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=10:ldc=5")));
  EXPECT_FALSE(contiguous_c(parse_problem("gemm_batched:f64:nn:m=4,n=4,k=4:pointer:batch=10")));
  const GemmProblem blocks =
      parse_problem("gemm_batched:f64:nn:m=2,n=2,k=2:block_interleaved:batch=9:block=8");
  EXPECT_TRUE(contiguous_a(blocks));
  EXPECT_EQ(footprint_bytes(blocks), 3 * 16 * 4 * 8);
}

TEST(Environment, ListsEveryVariableOnce) {
  std::set<std::string> ours, all;
  for (const auto& variable : environment_variables()) {
    all.insert(variable.name);
    if (std::string(variable.name).starts_with("TILEWRIGHT_")) ours.insert(variable.name);
    EXPECT_STRNE(variable.meaning, "");
  }
  EXPECT_EQ(ours.size(), 21u);
  EXPECT_EQ(all.size(), environment_variables().size());
}

TEST(Cpu, BrandsWithoutANumberAreToldApartByTheSignature) {
  const std::string brand = "Intel(R) Xeon(R) Processor";
  EXPECT_EQ(device_name(brand, 0x806f8), brand + " (family 6, model 143, stepping 8)");
  EXPECT_EQ(device_name(brand, 0xc06f2), brand + " (family 6, model 207, stepping 2)");
  EXPECT_EQ(device_name("AMD EPYC", 0x00b00f21), "AMD EPYC (family 26, model 2, stepping 1)");
  EXPECT_EQ(device_name("AMD EPYC 9654 96-Core Processor", 0x00a10f11), "AMD EPYC 9654 96-Core Processor");
  EXPECT_EQ(device_name("unknown CPU", 0), "unknown CPU");
  EXPECT_EQ(cpu_info().device.rfind(cpu_info().model, 0), 0u);
}

TEST(Cpu, ArmCoresHaveTheirNames) {
  EXPECT_EQ(arm_core_name(0x413fd0c1, ""), "Arm Neoverse N1");
  EXPECT_EQ(arm_core_name(0x411fd401, ""), "Arm Neoverse V1");
  EXPECT_EQ(arm_core_name(0x410fd4f0, ""), "Arm Neoverse V2");
  EXPECT_EQ(arm_core_name(0x410fd4f0, "jep106:036b:0241"), "NVIDIA Grace (Arm Neoverse V2)");
  EXPECT_EQ(arm_core_name(0x611f0231, ""), "Apple M1 (Firestorm)");
  EXPECT_EQ(arm_core_name(0x4e0f0100, ""), "Arm CPU (implementer 0x4e, part 0x010)");
  EXPECT_EQ(arm_core_name(0, ""), "");
}

TEST(Cpu, TellsTheTruth) {
  const CpuInfo& cpu = cpu_info();
  EXPECT_FALSE(cpu.model.empty());
  EXPECT_GE(cpu.cores, 1);
  EXPECT_GE(cpu.numa_nodes, 1);
  if (cpu.avx512) {
    EXPECT_TRUE(cpu.avx2_fma);
  }
#if defined(__x86_64__)
  EXPECT_EQ(cpu.avx2_fma, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(cpu.avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
#elif defined(__aarch64__)
  EXPECT_NE(cpu.model, "unknown CPU");
#endif
}

}  // namespace
}  // namespace tilewright
