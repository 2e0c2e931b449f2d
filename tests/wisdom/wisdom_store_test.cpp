// The user's wisdom database: what it keeps, how lookups over it rank, what happens when many write and when
// one is killed. Older, foreign and damaged files are wisdom_schema_test's, the index wisdom_index_test's.
#include <signal.h>

#include <algorithm>
#include <random>

#include "wisdom/wisdom_database.hpp"

namespace tilewright {
namespace {

TEST_F(WisdomStoreTest, KeepsEveryField) {
  WisdomRecord r = record(problem(8, 8, 8), 3);
  r.driver = "580.1";
  r.energy_j = 0.5;
  r.error = 1e-15, r.error_bound = 4e-15;
  r.metrics = {{"clock_mhz_low", 2900.0}, {"temperature_c_high", 60.5}};
  r.extra["regret"] = 0.1;
  {
    WisdomStore store(path("new/folder/w.sqlite"), Mode::write);
    store.put(r);
    WisdomRecord wrong = record(problem(8, 8, 8), 4);
    wrong.verdict = "failed", wrong.reason = "C[3] is NaN";
    store.put(wrong);
  }
  const auto records = all(path("new/folder/w.sqlite"));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(to_json(records[0]), to_json(r));
  EXPECT_EQ(records[1].verdict, "failed");
  EXPECT_EQ(records[1].reason, "C[3] is NaN");
  const WisdomRecord again = parse_record(to_json(records[0]).dump()).value();
  EXPECT_EQ(again.energy_j, 0.5);
  EXPECT_EQ(again.error_bound, 4e-15);
  EXPECT_EQ(again.metrics, r.metrics);
  EXPECT_EQ(again.extra, r.extra);
}

TEST_F(WisdomStoreTest, KeepsOneRecordPerIdentity) {
  WisdomStore store(file(), Mode::write);
  store.put(record(problem(8, 8, 8), 1));
  GemmProblem p = problem(8, 8, 8);
  p.batch_count = 7;  // says nothing about the config
  store.put(record(p, 2));
  EXPECT_EQ(store.count(), 1);
  p.lda = 20;
  p.stride_a = 160;
  store.put(record(p, 3));
  store.put(record(problem(8, 8, 8), 4, "Babbage 2"));
  WisdomRecord energy = record(problem(8, 8, 8), 5);
  energy.objective = "energy";
  store.put(energy);
  EXPECT_EQ(store.count(), 4);
  const Wisdom wisdom({file()}, "Abacus 1");
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), (std::vector<int>{3, 2, 4}));  // not the one for energy
}

TEST_F(WisdomStoreTest, OtherFamiliesAreKeptAndNotFound) {
  WisdomStore store(file(), Mode::write);
  WisdomRecord other = record(problem(8, 8, 8), 1);
  other.family = "gemm_small";
  other.config = {{"tile_m", 8}, {"stages", 3}};
  store.put(other);
  EXPECT_EQ(store.count(), 1);
  EXPECT_TRUE(found(Wisdom({file()}, "Abacus 1"), problem(8, 8, 8)).empty());
  EXPECT_EQ(all(file())[0].config, other.config);
}

TEST_F(WisdomStoreTest, EmulatedMathAndOtherOperationsAreKeptApart) {
  WisdomStore store(file(), Mode::write);
  WisdomRecord emulated = record(problem(8, 8, 8), 2), lu = record(problem(8, 8, 8), 3);
  emulated.problem += ":math=emulated";
  lu.problem = "lu:f64:m=64,n=64";
  for (const auto& r : {record(problem(8, 8, 8), 1), emulated, lu}) store.put(r);
  EXPECT_FALSE(store.merge(lu)) << "what is there is as good";
  EXPECT_EQ(store.count(), 3);
  EXPECT_EQ(found(Wisdom({file()}, "Abacus 1"), problem(8, 8, 8)), std::vector<int>{1});
  std::vector<int> nrs;
  Wisdom({file()}, "")
      .offer({"gemm_small_cpu", "avx512", problem(8, 8, 9), "time", "Abacus 1", "emulated"},
             [&](const WisdomAnswer& answer) {
               nrs.push_back(answer.config.at("nr"));
               return false;
             });
  EXPECT_EQ(nrs, std::vector<int>{2});
}

TEST_F(WisdomStoreTest, RecordsOfIsolatedCallsAreKeptApartAndOthersStandInForThem) {
  GemmProblem isolated = problem(8, 8, 8), only_looped = problem(3, 3, 3);
  isolated.arrival = only_looped.arrival = Arrival::idle;
  WisdomStore store(file(), Mode::write);
  std::string lines;
  int nr = 0;
  for (const GemmProblem& p : {problem(8, 8, 8), isolated, problem(3, 3, 3), problem(9, 8, 8)}) {
    store.put(record(p, ++nr));
    lines += to_json(record(p, nr)).dump() + "\n";
  }
  EXPECT_EQ(store.count(), 4) << "neither takes the other's place";
  for (const std::string& source : {file(), folder_.write("wisdom.jsonl", lines)}) {
    const Wisdom wisdom({source}, "Abacus 1");
    EXPECT_EQ(found(wisdom, problem(8, 8, 8)), (std::vector<int>{1, 4})) << "not the one of isolated calls";
    EXPECT_EQ(found(wisdom, isolated), (std::vector<int>{2, 1, 4}));
    EXPECT_EQ(found(wisdom, only_looped), std::vector<int>{3});
    EXPECT_EQ(lookup(wisdom, only_looped, Isa::avx512).front().match, WisdomMatch::exact);
  }
}

TEST_F(WisdomStoreTest, FailedConfigsAreNeverFound) {
  WisdomStore store(file(), Mode::write);
  store.put(record(problem(8, 8, 8), 1));
  WisdomRecord wrong = record(problem(8, 8, 8), 2);
  wrong.verdict = "failed";
  store.put(wrong);
  EXPECT_EQ(store.count(), 2);
  EXPECT_EQ(found(Wisdom({file()}, "Abacus 1"), problem(8, 8, 8)), std::vector<int>{1});
  EXPECT_EQ(found(Wisdom({file()}, "Abacus 1"), problem(8, 8, 9)), std::vector<int>{1});
}

// So few records are all looked at by both: the cells must leave none out that ranks higher.
TEST_F(WisdomStoreTest, FindsTheNeighbourThatJsonLinesFind) {
  std::mt19937 random(1);
  const auto size = [&](int most) { return 1 + std::int64_t(random() % unsigned(most)); };
  for (int trial = 0; trial < 15; ++trial) {
    const int most = 4 << trial % 5;
    std::string lines;
    const std::string name = path(fmt::format("{}.sqlite", trial));
    WisdomStore store(name, Mode::write);
    store.at_once([&] {
      for (int i = 0; i < 16; ++i) {
        const WisdomRecord r = record(problem(size(most), size(most), size(2 * most)), 1 + i);
        store.put(r);
        lines += to_json(r).dump() + "\n";
      }
    });
    const Wisdom database({name}, "Abacus 1"), file({folder_.write("lines.jsonl", lines)}, "Abacus 1");
    for (int i = 0; i < 100; ++i) {
      const GemmProblem asked = problem(size(2 * most), size(most), size(most));
      const auto one = lookup(database, asked, Isa::avx512), other = lookup(file, asked, Isa::avx512);
      ASSERT_EQ(one.empty(), other.empty()) << to_string(asked);
      if (one.empty()) continue;
      EXPECT_EQ(one[0].match, other[0].match) << to_string(asked);
      EXPECT_EQ(one[0].config, other[0].config) << to_string(asked);
    }
  }
}

TEST_F(WisdomStoreTest, RanksShapesAsJsonLinesDo) {
  WisdomStore store(file(), Mode::write);
  for (const auto& [m, nr] : {std::pair{16, 1}, {20, 2}, {14, 3}, {60, 4}})
    store.put(record(problem(m, 8, 8), nr));
  const Wisdom wisdom({file()}, "Abacus 1");
  const auto hits = lookup(wisdom, problem(22, 8, 8), Isa::avx512);
  ASSERT_EQ(hits.size(), 3u);
  EXPECT_EQ(hits[0].match, WisdomMatch::near_shape);
  EXPECT_EQ(hits[0].config.nr, 2);
  EXPECT_EQ(hits[1].config.nr, 3);
  EXPECT_EQ(hits[2].config.nr, 1);
}

TEST_F(WisdomStoreTest, GenerationsOfOneBrandAreToldApart) {
  WisdomStore store(file(), Mode::write);
  const std::string own = "Abacus (family 6, model 1, stepping 1)";
  store.put(record(problem(8, 8, 8), 1, "Abacus (family 6, model 2, stepping 1)"));
  store.put(record(problem(8, 8, 8), 2, own));
  store.put(record(problem(8, 8, 8), 3, "Abacus (family 6, model 1)"));
  store.put(record(problem(9, 8, 8), 4, "Abacus (family 6)"));
  store.put(record(problem(9, 8, 8), 5, "Abacus"));
  EXPECT_EQ(found(Wisdom({file()}, own), problem(8, 8, 8)), (std::vector<int>{2, 3, 4, 1, 5}));
}

TEST_F(WisdomStoreTest, RanksDevicesAsJsonLinesDo) {
  WisdomStore store(file(), Mode::write);
  store.put(record(problem(9, 9, 9), 1, "Babbage 2"));
  store.put(record(problem(8, 8, 8), 2, "Babbage 2"));
  store.put(record(problem(9, 9, 9), 3));
  store.put(record(problem(8, 8, 8), 4));
  store.put(record(problem(8, 8, 8), 5, "Abacus 9"));
  const Wisdom wisdom({file()}, "Abacus 1");
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), (std::vector<int>{4, 3, 5, 2, 1}));  // a sibling before others
  const auto hits = lookup(wisdom, problem(8, 8, 8), Isa::avx512);
  EXPECT_EQ(hits[0].match, WisdomMatch::exact);
  EXPECT_EQ(hits[1].match, WisdomMatch::near_shape);
  for (std::size_t i = 2; i < hits.size(); ++i) EXPECT_EQ(hits[i].match, WisdomMatch::near_device);
  EXPECT_TRUE(lookup(wisdom, problem(8, 8, 8), Isa::avx2).empty());  // no device of that family is known
}

// Against the plain definition, on records strewn thinly and thickly.
TEST_F(WisdomStoreTest, FindsTheNearestShape) {
  for (const int step : {2, 3, 7}) {
    const std::string name = path(std::to_string(step));
    WisdomStore store(name, Mode::write);
    std::vector<GemmProblem> known;
    store.at_once([&] {
      for (int m = 1; m <= 40; m += step)
        for (int n = 2; n <= 40; n += step)
          for (int k = 3; k <= 40; k += step) {
            known.push_back(problem(m, n, k));
            store.put(record(known.back(), 1 + int(known.size())));
          }
    });
    const Wisdom wisdom({name}, "Abacus 1");
    for (const auto& asked :
         {problem(41, 41, 41), problem(8, 45, 8), problem(64, 5, 23), problem(30, 7, 44)}) {
      const auto distance = [&](const GemmProblem& p) {
        return shape_distance(asked, p) + trait_penalty(asked, p, "avx512");
      };
      double best = 10;
      for (const auto& p : known)
        if (shape_distance(asked, p) <= shape_radius) best = std::min(best, distance(p));
      const auto hits = lookup(wisdom, asked, Isa::avx512);
      if (best == 10) {
        EXPECT_TRUE(hits.empty());
        continue;
      }
      ASSERT_FALSE(hits.empty()) << to_string(asked) << " step " << step;
      const double reached = distance(known[std::size_t(hits[0].config.nr - 2)]);
      EXPECT_LE(reached, best + 0.1) << to_string(asked) << " step " << step;
      if (step == 7) {
        EXPECT_DOUBLE_EQ(reached, best) << to_string(asked);  // few enough to look at all
      }
    }
  }
}

TEST_F(WisdomStoreTest, AChangedSourceDropsItsRecordsFromLookupsOnly) {
  WisdomStore store(file(), Mode::write);
  WisdomRecord old = record(problem(8, 8, 8), 1);
  old.source_hash = "of older kernels";
  store.put(old);
  store.put(record(problem(9, 9, 9), 2));
  const Wisdom wisdom({file()}, "Abacus 1");
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), std::vector<int>{2});
  EXPECT_EQ(found(wisdom, problem(9, 9, 9)), std::vector<int>{2});
  ASSERT_EQ(wisdom.records().size(), 2u);
  EXPECT_TRUE(is_stale(wisdom.records()[0]));
  EXPECT_FALSE(is_stale(wisdom.records()[1]));
}

TEST_F(WisdomStoreTest, ShippedLinesAreNotReadWhileTheDatabaseAnswers) {
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 8), 1));
  std::ofstream(path("shipped.jsonl")) << "this is no JSON\n";
  const Wisdom wisdom({file(), path("shipped.jsonl")}, "Abacus 1");
  WisdomMatch match = WisdomMatch::none;
  EXPECT_TRUE(wisdom.offer({"gemm_small_cpu", "avx512", problem(8, 8, 8)}, [&](const WisdomAnswer& answer) {
    match = answer.match;
    return true;
  }));
  EXPECT_EQ(match, WisdomMatch::exact);
  EXPECT_THROW(lookup(wisdom, problem(8, 8, 9), Isa::avx512), Error);
}

TEST_F(WisdomStoreTest, AnExactShippedLineBeatsANearRecord) {
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 9), 1));
  WisdomRecord shipped = record(problem(8, 8, 8), 2);
  shipped.source_hash = "of older kernels";  // which does not drop what is shipped
  std::ofstream(path("shipped.jsonl")) << to_json(shipped).dump() << '\n';
  EXPECT_EQ(found(Wisdom({file(), path("shipped.jsonl")}, "Abacus 1"), problem(8, 8, 8)),
            (std::vector<int>{2, 1}));
}

TEST_F(WisdomStoreTest, TheBetterMeasuredWins) {
  const auto winner = [&](const WisdomRecord& x, const WisdomRecord& y) {
    std::filesystem::remove(file());
    WisdomStore store(file(), Mode::write);
    EXPECT_TRUE(store.merge(x));
    EXPECT_EQ(store.merge(y), is_better(y, x));
    int nr = 0;
    store.each([&](const WisdomRecord& r) { nr = r.config["nr"]; });
    return nr;
  };
  const WisdomRecord first = record(problem(8, 8, 8), 1);
  WisdomRecord second = record(problem(8, 8, 8), 2);
  EXPECT_EQ(winner(first, second), 1);  // equally good: what is there stays
  second.time = "2016-11-22T10:00:00Z";
  EXPECT_EQ(winner(first, second), 2);  // newer
  EXPECT_EQ(winner(second, first), 2);
  second.samples = 3;  // fewer, which counts before the date
  EXPECT_EQ(winner(first, second), 1);
  EXPECT_EQ(winner(second, first), 1);
  second.seconds_low = 0.999e-6, second.seconds_high = 1.001e-6;
  EXPECT_EQ(winner(first, second), 1) << "three samples lie close together by chance";
  EXPECT_EQ(winner(second, first), 1);
  EXPECT_FALSE(second.recorded().well_measured());
  EXPECT_NE(second.recorded().quality().find("too few"), std::string::npos);
  second.samples = 6;  // still fewer than the first's, but much tighter
  EXPECT_EQ(winner(first, second), 2);
  EXPECT_NE(second.recorded().quality().find("0.1 % in 6 samples"), std::string::npos)
      << second.recorded().quality();
  second.source_hash = "older";  // counts before all of them
  EXPECT_EQ(winner(first, second), 1);
  EXPECT_EQ(winner(second, first), 1);
  second.source_hash = first.source_hash;
  second.verdict = "failed";
  EXPECT_FALSE(is_better(second, first));
  EXPECT_TRUE(is_better(first, second));
}

TEST_F(WisdomStoreTest, WhatIsFoundNeverTakesThePlaceOfWhatIsNewer) {
  const auto kept = [&](const WisdomRecord& known, const WisdomRecord& found) {
    std::filesystem::remove(file());
    WisdomStore store(file(), Mode::write);
    store.put(known);
    const bool taken = store.add_found(found);
    int nr = 0;
    store.each([&](const WisdomRecord& r) { nr = r.config["nr"]; });
    EXPECT_EQ(taken, nr == 2);
    return nr;
  };
  WisdomRecord known = record(problem(8, 8, 8), 1), found = record(problem(8, 8, 8), 2);
  EXPECT_EQ(kept(known, found), 2) << "of the same time";
  known.time = "2016-11-22T10:00:00Z";
  EXPECT_EQ(kept(known, found), 1) << "a run that is resumed brings what is older";
  found.seconds_low = 0.999e-6, found.seconds_high = 1.001e-6;
  EXPECT_EQ(kept(known, found), 1) << "though it is surer";
  found.time = "2016-11-23T10:00:00Z";
  found.seconds_low = 0.5e-6, found.seconds_high = 1.5e-6;
  EXPECT_EQ(kept(known, found), 2) << "newer, though less sure";
  found.samples = 3;
  EXPECT_EQ(kept(known, found), 1) << "newer, but hardly measured";
  known.source_hash = "older";
  EXPECT_EQ(kept(known, found), 2) << "of other kernels";
  known.time = "2016-11-24T10:00:00Z";
  EXPECT_EQ(kept(known, found), 2) << "of other kernels, though newer";
}

TEST_F(WisdomStoreTest, ADateThatIsYetToComeIsNone) {
  WisdomRecord future = record(problem(8, 8, 8), 1), past = record(problem(8, 8, 8), 2);
  future.time = "9999-01-01T00:00:00Z";
  EXPECT_TRUE(supersedes(past, future));
  EXPECT_FALSE(supersedes(future, past)) << "an import with a wrong date";
  EXPECT_TRUE(is_better(past, future));
  FittedModel wrong, right;
  wrong.time = future.time, right.time = past.time;
  EXPECT_TRUE(supersedes(right, wrong));
  EXPECT_TRUE(is_better(right, wrong));
}

TEST_F(WisdomStoreTest, LookupsTakeRecordsOfTheirObjective) {
  WisdomStore store(file(), Mode::write);
  store.put(record(problem(8, 8, 8), 1));
  WisdomRecord frugal = record(problem(8, 8, 8), 2);
  frugal.objective = "energy";
  store.put(frugal);
  const Wisdom wisdom({file()}, "Abacus 1");
  const auto nr = [&](const std::string& objective) {
    const auto hits = lookup(wisdom, problem(8, 8, 8), Isa::avx512, objective);
    return hits.size() == 1 ? hits.front().config.nr : 0;
  };
  EXPECT_EQ(nr("time"), 1);
  EXPECT_EQ(nr("energy"), 2);
  EXPECT_EQ(nr("edp"), 0);
}

TEST_F(WisdomStoreTest, LookupsTellWhatWasMeasured) {
  WisdomRecord r = record(problem(8, 8, 8), 1);
  r.default_seconds = 1.25 * r.seconds;
  WisdomStore(file(), Mode::write).put(r);
  const std::string lines = folder_.write("lines.jsonl", to_json(r).dump() + "\n");
  for (const std::string& path : {file(), lines}) {
    const auto hits = lookup(Wisdom({path}, "Abacus 1"), problem(8, 8, 8), Isa::avx512);
    ASSERT_EQ(hits.size(), 1u) << path;
    EXPECT_EQ(hits[0].recorded.seconds, r.seconds);
    EXPECT_EQ(hits[0].recorded.samples, r.samples);
    EXPECT_NEAR(hits[0].recorded.regret().value(), 0.25, 1e-9);
  }
}

TEST_F(WisdomStoreTest, SeveralProcessesWriteAndReadAtOnce) {
  constexpr int writers = 5, each = 60;
  std::vector<pid_t> children;
  for (int w = 0; w < writers; ++w)
    children.push_back(child([&] {  // the file itself is made by whoever comes first
      WisdomStore store(file(), Mode::write);
      for (int i = 0; i < each; ++i) store.put(record(problem(1 + w, 1 + i, 8), 1 + w));
    }));
  for (int r = 0; r < 2; ++r)
    children.push_back(child([&] {
      const Wisdom wisdom({file()}, "Abacus 1");
      for (int i = 0; i < 20000; ++i) {
        const auto hits = lookup(wisdom, problem(writers, each, 8), Isa::avx512);
        if (!hits.empty() && hits[0].match == WisdomMatch::exact) return;
        usleep(1000);
      }
      throw std::runtime_error("a reader never saw the last record");
    }));
  for (const pid_t id : children) EXPECT_EQ(status_of(id), 0);
  EXPECT_EQ(WisdomStore(file(), Mode::read).count(), writers * each);
}

TEST_F(WisdomStoreTest, KilledWritersLoseNothingCommitted) {
  for (int round = 0; round < 8; ++round) {
    const std::string name = path(std::to_string(round));
    int reports[2];
    ASSERT_EQ(pipe(reports), 0);
    const pid_t id = child([&] {
      WisdomStore store(name, Mode::write);
      for (int i = 1;; ++i) {
        store.put(record(problem(1 + i % 64, 1 + i / 64, 8), 1 + i % 7));
        if (write(reports[1], &i, sizeof i) != sizeof i) return;
      }
    });
    close(reports[1]);
    int committed = 0, one = 0;
    while (committed < 5 + 13 * round && read(reports[0], &one, sizeof one) == sizeof one) committed = one;
    kill(id, SIGKILL);
    while (read(reports[0], &one, sizeof one) == sizeof one) committed = one;
    close(reports[0]);
    EXPECT_TRUE(WIFSIGNALED(status_of(id)));
    WisdomStore store(name, Mode::write);
    EXPECT_GE(store.count(), committed);
    EXPECT_LE(store.count(), committed + 1);
    store.put(record(problem(64, 64, 64), 1));
  }
}

TEST_F(WisdomStoreTest, AtOnceMeansAllOrNothing) {
  WisdomStore store(file(), Mode::write);
  EXPECT_THROW(store.at_once([&] {
    store.put(record(problem(8, 8, 8), 1));
    throw std::runtime_error("half-way");
  }),
               std::runtime_error);
  EXPECT_EQ(store.count(), 0);
  store.put(record(problem(8, 8, 8), 1));
  EXPECT_EQ(store.count(), 1);
}

TEST_F(WisdomStoreTest, WhatIsLeftIsOneFileThatHoldsAll) {
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 8), 1));
  {
    WisdomStore reader(file(), Mode::read);
    EXPECT_EQ(reader.count(), 1);
    WisdomStore(file(), Mode::write).put(record(problem(9, 9, 9), 2));
    std::filesystem::copy_file(file(), path("copy.sqlite"));
    EXPECT_EQ(all(path("copy.sqlite")).size(), 2u) << "though somebody still reads the original";
    EXPECT_EQ(reader.count(), 2);
  }
  for (const char* beside : {"-wal", "-shm", "-journal"})
    EXPECT_FALSE(std::filesystem::exists(file() + beside)) << beside;
  EXPECT_EQ(all(file()).size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(file() + "-shm")) << "nor do readers leave anything";
}

TEST_F(WisdomStoreTest, AForkedChildReadsWithAConnectionOfItsOwn) {
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 8), 1));
  const Wisdom wisdom({file()}, "Abacus 1");
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), std::vector<int>{1});
  EXPECT_EQ(status_of(child([&] {
              if (found(wisdom, problem(8, 8, 8)) != std::vector<int>{1})
                throw std::runtime_error("not found");
            })),
            0);
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), std::vector<int>{1});
}

}  // namespace
}  // namespace tilewright
