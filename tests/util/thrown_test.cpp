#include "kimesh/util/thrown.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>

namespace kimesh::thrown_test {
namespace {

TEST(Thrown, KeepsWhatWasThrownAndWhatTheThreadWasDoing) {
  Thrown thrown;
  EXPECT_TRUE(thrown.guard("doing nothing", [] {}));
  EXPECT_TRUE(thrown.is_empty());
  EXPECT_FALSE(thrown.text());
  std::thread([&] {
    EXPECT_FALSE(thrown.guard("adding", [] { throw std::runtime_error("a trouble\nfrom f()"); }));
  }).join();
  EXPECT_FALSE(thrown.is_empty());
  EXPECT_EQ(thrown.text(), "adding: a trouble");
}

// The threads that follow only feel what the first one has left.
TEST(Thrown, TheFirstCounts) {
  Thrown thrown;
  thrown.guard("computing a gradient", [] { throw std::bad_alloc(); });
  thrown.guard("saving the model", [] { throw std::runtime_error("another"); });
  EXPECT_EQ(thrown.text(), "computing a gradient: no memory is left (std::bad_alloc)");
}

TEST(Thrown, WhatIsNoExceptionOfTheStandardLibraryIsKeptAsWell) {
  Thrown thrown;
  EXPECT_FALSE(thrown.guard("adding", [] { throw 7; }));
  EXPECT_EQ(thrown.text(), "adding: something that does not say what it is");
}

}  // namespace
}  // namespace kimesh::thrown_test
