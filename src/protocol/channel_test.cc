// SPDX-License-Identifier: Apache-2.0
#include "protocol/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

namespace gradstone {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kForEver{-1};

// The other end of a channel, at which anything can be written.
class ChannelTest : public testing::Test {
 protected:
  void write(std::string_view bytes) {
    ASSERT_EQ(::send(pair.theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  ChannelPair pair = open_channel().value();
};

TEST_F(ChannelTest, MessagesCrossWholeAndInOrder) {
  Channel other(pair.theirs.release());
  const Json long_one = std::string(1'000'000, 'x');  // more than a socket holds
  std::thread sender([&] {
    EXPECT_TRUE(other.send(long_one).ok());
    EXPECT_TRUE(other.send({{"text", "a line\nand another"}}).ok());
  });
  EXPECT_EQ(pair.ours.receive(kForEver).value(), long_one);
  EXPECT_EQ(pair.ours.receive(kForEver).value(), (Json{{"text", "a line\nand another"}}));
  sender.join();
}

TEST_F(ChannelTest, LinesMayComeInPiecesOrTogether) {
  write("{\"a\"");
  EXPECT_EQ(pair.ours.receive(milliseconds(0)).value(), std::nullopt);
  EXPECT_TRUE(pair.ours.timed_out());
  write(": 1}\n2\n3");
  EXPECT_EQ(pair.ours.receive(kForEver).value(), (Json{{"a", 1}}));
  EXPECT_FALSE(pair.ours.timed_out());
  EXPECT_EQ(pair.ours.receive(kForEver).value(), Json(2));
  EXPECT_EQ(pair.ours.receive(milliseconds(0)).value(), std::nullopt);
  EXPECT_TRUE(pair.ours.timed_out());
  write("4\n");
  EXPECT_EQ(pair.ours.receive(kForEver).value(), Json(34));
}

TEST_F(ChannelTest, TheEndIsNotATimeOut) {
  write("1\n");
  pair.theirs.reset();
  EXPECT_EQ(pair.ours.receive(kForEver).value(), Json(1));
  EXPECT_EQ(pair.ours.receive(kForEver).value(), std::nullopt);
  EXPECT_FALSE(pair.ours.timed_out());
}

TEST_F(ChannelTest, AnEndInsideALineIsUnreadable) {
  write("{\"a\": 1");
  pair.theirs.reset();
  EXPECT_EQ(pair.ours.receive(kForEver).error().message, "channel: the stream ends inside a line");
}

TEST_F(ChannelTest, RubbishIsUnreadable) {
  write(
      "\x7f"
      "ELF\n");
  const Result<std::optional<Json>> received = pair.ours.receive(kForEver);
  EXPECT_EQ(received.error().kind, ErrorKind::kUnreadable);
  EXPECT_EQ(received.error().message, "channel: not JSON: byte 1 of 4");
}

TEST_F(ChannelTest, AnEndlessLineIsRefused) {
  std::thread sender([&] {
    const std::string block(1 << 20, ' ');
    while (::send(pair.theirs.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  EXPECT_EQ(pair.ours.receive(kForEver).error().message,
            "channel: a line of more than 16777216 bytes");
  { Channel closes = std::move(pair.ours); }
  sender.join();
}

// A worker is not trusted with objects whose keys take long to look for; the core is.
TEST_F(ChannelTest, KeysOfAWorkersObjectsAreBounded) {
  std::string object = "{\"k\":0";
  for (int i = 1; i <= Channel::kMaxWorkerKeys; ++i) object += ",\"k" + std::to_string(i) + "\":0";
  object += "}\n";
  write(object);
  EXPECT_EQ(pair.ours.receive(kForEver).error().message,
            "channel: not JSON for Gradstone: an object of more than 2048 keys");
  ASSERT_EQ(::send(pair.ours.descriptor(), object.data(), object.size(), 0),
            static_cast<ssize_t>(object.size()));
  Channel theirs(pair.theirs.release());
  EXPECT_TRUE(theirs.receive(kForEver).ok());
}

TEST_F(ChannelTest, SendingToNobodyIsAnErrorNotASignal) {
  pair.theirs.reset();
  EXPECT_EQ(pair.ours.send(1).error().message, "channel: the other side is gone");
}

TEST_F(ChannelTest, APeerThatDiesWithUnreadBytesEndsTheStream) {
  ASSERT_TRUE(pair.ours.send("never read").ok());
  pair.theirs.reset();
  EXPECT_EQ(pair.ours.receive(kForEver).value(), std::nullopt);
  EXPECT_FALSE(pair.ours.timed_out());
}

TEST(Channel, ADescriptorThatIsNoSocketIsAnError) {
  EXPECT_EQ(Channel(-1).send(1).error().kind, ErrorKind::kFailed);
  EXPECT_FALSE(Channel(-1).receive(milliseconds(0)).value().has_value());
}

}  // namespace
}  // namespace gradstone
