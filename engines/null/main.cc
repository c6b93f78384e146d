// SPDX-License-Identifier: Apache-2.0
// The null engine's own main: faults of the protocol lie below what an Engine can do.
#include <sys/socket.h>

#include <charconv>
#include <string>
#include <variant>

#include "engines/null/actions.h"
#include "protocol/channel.h"
#include "protocol/messages.h"
#include "worker/worker_main.h"

namespace gradstone {
namespace {

// The engine's argument in the core's hello, which stays in the socket for worker_main. "" if there
// is none.
std::string argument_in_hello() {
  std::string text(1 << 16, '\0');
  const ssize_t got = ::recv(kWorkerDescriptor, text.data(), text.size(), MSG_PEEK);
  if (got <= 0) return "";
  const Result<Json> json = parse_json(text.substr(0, text.substr(0, got).find('\n')));
  if (!json.ok()) return "";
  const Result<CoreMessage> message = core_message_from_json(*json);
  const CoreHello* hello = message.ok() ? std::get_if<CoreHello>(&*message) : nullptr;
  return hello != nullptr ? hello->argument : "";
}

int send_rubbish() {
  constexpr std::string_view kRubbish =
      "\x7f"
      "ELF{\"type\":\n";
  ::send(kWorkerDescriptor, kRubbish.data(), kRubbish.size(), MSG_NOSIGNAL);
  return 0;
}

int speak_version(const std::string& version) {
  WorkerHello hello;
  std::from_chars(version.data(), version.data() + version.size(), hello.protocol);
  Channel channel(kWorkerDescriptor);
  (void)channel.send(to_json(WorkerMessage(hello)));
  return 0;
}

}  // namespace
}  // namespace gradstone

int main(int argc, char** argv) {
  using namespace gradstone;
  const Result<null::Order> order = null::parse_order(argument_in_hello());
  if (order.ok() && order->action != nullptr && order->action->moment == null::Moment::kHandshake) {
    return order->action->name == "rubbish" ? send_rubbish() : speak_version(order->parameter);
  }
  return worker_main(argc, argv);
}
