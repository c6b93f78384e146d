// SPDX-License-Identifier: Apache-2.0
// Lines of the protocol in either direction: no crash, and what is read and written again is the
// same.
#include <cstdint>

#include "protocol/messages.h"

namespace {

template <class Message>
void check_round_trip(const gradstone::Json& json,
                      gradstone::Result<Message> (*read)(const gradstone::Json&)) {
  using namespace gradstone;
  const Result<Message> message = read(json);
  if (!message.ok()) return;
  const std::string written = write_json(to_json(*message));
  const Result<Message> again = read(parse_json(written).value());
  CHECK(again.ok() && write_json(to_json(*again)) == written, "a message changed on its way");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradstone;
  const Result<Json> json = parse_json({reinterpret_cast<const char*>(data), size});
  if (!json.ok()) return 0;
  check_round_trip<WorkerMessage>(*json, worker_message_from_json);
  check_round_trip<CoreMessage>(*json, core_message_from_json);
  return 0;
}
