// The bounded map: which entries are evicted for new ones, and that none is destroyed under its lock.
#include "core/bounded_map.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

using Map = BoundedMap<int, int>;

TEST(BoundedMap, WhatWasAskedForLatelyStays) {
  Map map(3);
  for (int i = 0; i < 3; ++i) map.add(i, std::make_shared<int>(i));
  EXPECT_EQ(*map.find(0), 0);
  map.add(3, std::make_shared<int>(3));
  EXPECT_EQ(map.find(1), nullptr) << "the oldest that nobody asked for";
  for (const int key : {0, 2, 3}) EXPECT_NE(map.find(key), nullptr) << key;
  map.add(4, std::make_shared<int>(4));  // all were used: one of them is evicted
  int count = 0;
  for (int key = 0; key < 5; ++key) count += map.find(key) != nullptr;
  EXPECT_EQ(count, 3);
}

TEST(BoundedMap, IsBoundedByWhatItsObjectsWeigh) {
  Map map(10, [](const Map::Value& value) { return std::size_t(*value); });
  map.add(0, std::make_shared<int>(4));
  map.add(1, std::make_shared<int>(4));
  map.add(2, std::make_shared<int>(2));
  for (const int key : {0, 1, 2}) EXPECT_NE(map.find(key), nullptr) << key;
  map.erase_if([](int weight) { return weight == 2; });
  map.add(3, std::make_shared<int>(6));
  EXPECT_NE(map.find(3), nullptr);
  EXPECT_EQ((map.find(0) != nullptr) + (map.find(1) != nullptr), 1) << "one of them is enough";
  map.add(4, std::make_shared<int>(100));
  EXPECT_NE(map.find(4), nullptr) << "what is heavier than all may be is there alone";
  EXPECT_EQ(map.find(3), nullptr);
}

TEST(BoundedMap, WhatIsKeptStays) {
  Map map(2);
  map.add(0, std::make_shared<int>(7));
  for (int i = 0; i < 3; ++i) map.keep(i, std::make_shared<int>(i));
  for (int i = 10; i < 20; ++i) map.add(i, std::make_shared<int>(i));
  EXPECT_EQ(*map.find(0), 0) << "the kept one takes the place of the other";
  EXPECT_EQ(*map.find(1), 1);
  EXPECT_EQ(map.find(2), nullptr) << "no more than the map holds are kept";
  map.erase_if([](int value) { return value != 1; });
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(*map.find(1), 1);
  map.keep(0, std::make_shared<int>(5));
  for (int i = 10; i < 20; ++i) map.add(i, std::make_shared<int>(i));
  EXPECT_EQ(*map.find(0), 5);
}

TEST(BoundedMap, TheFirstThatIsAddedKeepsItsPlace) {
  Map map(2);
  const auto first = std::make_shared<const int>(1);
  EXPECT_EQ(map.add(0, first), first);
  EXPECT_EQ(map.add(0, std::make_shared<int>(2)), first);
}

// The destructors of these objects call the map itself.
TEST(BoundedMap, DestroysNothingUnderItsLock) {
  Map map(1);
  int asked = 0;
  const auto asking = [&](int value) {
    return std::shared_ptr<const int>(new int(value), [&](const int* gone) {
      map.find(0);
      ++asked;
      delete gone;
    });
  };
  map.add(0, asking(0));
  map.add(1, asking(1));
  map.keep(1, asking(2));
  map.erase_if([](int) { return true; });
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace tilewright
