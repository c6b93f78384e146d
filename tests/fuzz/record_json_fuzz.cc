// SPDX-License-Identifier: Apache-2.0
// Records from foreign JSON: no crash, and what is read and written again is the same.
#include "record/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradstone;
  const Result<Json> json = parse_json({reinterpret_cast<const char*>(data), size});
  if (!json.ok()) return 0;
  const Result<std::vector<RunRecord>> records = records_from_json(*json);
  if (!records.ok()) return 0;
  const std::string written = write_json(records_to_json(*records));
  const auto again = records_from_json(parse_json(written).value());
  CHECK(write_json(records_to_json(again.value())) == written, "a record changed on its way");
  return 0;
}
