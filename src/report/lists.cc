// SPDX-License-Identifier: Apache-2.0
#include "report/lists.h"

#include <array>

#include "report/formats.h"

namespace gradstone {
namespace {

std::string list_json(const Table& table, std::string_view key, const TextStyle&) {
  Json json = {{"schema", "gradstone/1"}};
  json[std::string(key)] = table_json(table);
  return write_json(json, 1) + "\n";
}

std::string list_json_lines(const Table& table, std::string_view, const TextStyle&) {
  std::string text;
  for (const Json& row : table_json(table)) text += write_json(row) + "\n";
  return text;
}

struct ListFormat {
  std::string_view name;
  std::string (*write)(const Table&, std::string_view key, const TextStyle&);
};
constexpr std::array<ListFormat, 5> kFormats = {
    {{"table", [](const Table& table, std::string_view,
                  const TextStyle& style) { return table_text(table, style); }},
     {"md",
      [](const Table& table, std::string_view, const TextStyle&) { return table_markdown(table); }},
     {"json", list_json},
     {"jsonl", list_json_lines},
     {"csv",
      [](const Table& table, std::string_view, const TextStyle&) { return table_csv(table); }}}};

}  // namespace

Result<std::string> write_list(const Table& table, std::string_view key, std::string_view format,
                               const TextStyle& style) {
  for (const ListFormat& each : kFormats) {
    if (each.name == format) return each.write(table, key, style);
  }
  return find_report_format(format).error();  // the same names, so the same message
}

}  // namespace gradstone
