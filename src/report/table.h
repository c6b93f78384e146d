// SPDX-License-Identifier: Apache-2.0
// A table of cells and the ways to write it: for a terminal, as Markdown, CSV and JSON. Knows
// nothing of records.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace gradstone {

struct TextStyle {
  int width = 100;     // columns of the terminal
  bool color = false;  // escape sequences allowed
};

struct Column {
  std::string title;   // also the key in JSON, where spaces become '_'
  bool right = false;  // aligned to the right
  // Columns of the largest number are left out first where the terminal is too narrow; 0: never.
  int expendable = 0;
  // Escape sequence before a cell, "" for none; nullptr: never any.
  std::string_view (*color)(std::string_view cell) = nullptr;
};

// Cells are strings, numbers, booleans, null, or arrays of these.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Json>> rows;
};

std::string table_text(const Table& table, const TextStyle& style);
std::string table_markdown(const Table& table);
std::string table_csv(const Table& table);  // RFC 4180, lines end with \n
Json table_json(const Table& table);        // an array of objects

// Foreign text as it may go to a terminal: control characters are spaces (a cell breaks no line and
// no engine plays with the terminal), bytes that are not UTF-8 are '?'.
std::string printable(std::string_view text);
// Terminal columns that UTF-8 text takes, counting one a code point.
std::size_t text_width(std::string_view text);
// `prefix` and `text`, broken at spaces; lines after the first begin with `indent` spaces.
// The text is made printable.
std::string wrapped(std::string_view text, int width, int indent, std::string_view prefix = "");

}  // namespace gradstone
