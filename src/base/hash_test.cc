// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <gtest/gtest.h>

namespace gradstone {
namespace {

TEST(Hash, IsXxh3WithPublishedValues) {
  // xxHash's own sanity vector for the empty input with seed 0.
  EXPECT_EQ(hash_hex(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, PiecesHashLikeTheWhole) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i);
  Hasher hasher;
  for (std::size_t at = 0; at < text.size(); at += 77) {
    hasher.update(std::string_view(text).substr(at, 77));
  }
  EXPECT_EQ(hasher.hex(), hash_hex(text));
  EXPECT_NE(hasher.hex(), hash_hex(text + " "));
}

}  // namespace
}  // namespace gradstone
