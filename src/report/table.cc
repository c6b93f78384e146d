// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace gradstone {
namespace {

constexpr std::string_view kReset = "\x1b[0m";
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::size_t kGap = 2;

std::string with_separators(std::string digits) {
  const int first = digits.starts_with('-') ? 1 : 0;
  for (int place = static_cast<int>(digits.size()) - 3; place > first; place -= 3) {
    digits.insert(static_cast<std::size_t>(place), ",");
  }
  return digits;
}

// What a person reads. `plain` numbers have no separators and all their digits.
std::string cell_text(const Json& cell, bool plain) {
  if (cell.is_null()) return plain ? "" : "-";
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_boolean()) return cell.get<bool>() ? "yes" : "no";
  if (cell.is_number_integer()) {
    const std::string digits = cell.is_number_unsigned() ? std::to_string(cell.get<std::uint64_t>())
                                                         : std::to_string(cell.get<std::int64_t>());
    return plain ? digits : with_separators(digits);
  }
  if (cell.is_number()) {
    return plain ? fmt::format("{}", cell.get<double>())
                 : fmt::format("{:.4g}", cell.get<double>());
  }
  std::string joined;
  for (const Json& element : cell) {
    if (!joined.empty()) joined += plain ? " " : ", ";
    joined += cell_text(element, plain);
  }
  return joined;
}

// Length of the UTF-8 character at the beginning, by its first byte and the continuation bytes that
// must follow; 0 where it is none. Surrogates and longer forms than needed are none (RFC 3629).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

std::vector<std::vector<std::string>> all_texts(const Table& table) {
  std::vector<std::vector<std::string>> rows(1);
  for (const Column& column : table.columns) rows[0].push_back(column.title);
  for (const std::vector<Json>& row : table.rows) {
    std::vector<std::string>& texts = rows.emplace_back();
    for (const Json& cell : row) texts.push_back(printable(cell_text(cell, false)));
  }
  return rows;
}

std::vector<std::size_t> column_widths(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], text_width(row[i]));
    }
  }
  return widths;
}

// Indices of the columns that fit.
std::vector<std::size_t> fitting_columns(const Table& table, const std::vector<std::size_t>& widths,
                                         std::size_t width) {
  std::vector<std::size_t> kept(table.columns.size());
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = i;
  while (true) {
    std::size_t needed = 0;
    for (const std::size_t i : kept) needed += widths[i] + kGap;
    const auto first = std::max_element(kept.begin(), kept.end(), [&](auto left, auto right) {
      return table.columns[left].expendable < table.columns[right].expendable;
    });
    if (needed <= width + kGap || first == kept.end() || table.columns[*first].expendable == 0) {
      return kept;
    }
    kept.erase(first);
  }
}

std::string padded(std::string_view text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, text_width(text)), ' ');
  return right ? space + std::string(text) : std::string(text) + space;
}

std::string colored(std::string text, std::string_view sequence, bool color) {
  if (!color || sequence.empty()) return text;
  return std::string(sequence) + text + std::string(kReset);
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string markdown_cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '<') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(character.size());
    const auto first = static_cast<unsigned char>(character[0]);
    const bool control = first < ' ' || first == 0x7f ||
                         (first == 0xc2 && static_cast<unsigned char>(character.back()) < 0xa0);
    if (length == 0) {
      result += '?';
    } else if (control) {
      result += ' ';
    } else {
      result += character;
    }
  }
  return result;
}

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // not a continuation byte
  }));
}

std::string wrapped(std::string_view words, int width, int indent, std::string_view prefix) {
  const std::string whole = printable(words);
  std::string_view text = whole;
  std::string result(prefix);
  std::size_t column = text_width(prefix);
  bool at_start = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!at_start && column + 1 + text_width(word) > static_cast<std::size_t>(width)) {
      result += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
      column = static_cast<std::size_t>(indent);
    } else if (!at_start) {
      result += ' ';
      ++column;
    }
    at_start = false;
    result += word;
    column += text_width(word);
  }
  return result;
}

std::string table_text(const Table& table, const TextStyle& style) {
  const std::vector<std::vector<std::string>> rows = all_texts(table);
  const std::vector<std::size_t> widths = column_widths(rows);
  const std::vector<std::size_t> kept =
      fitting_columns(table, widths, static_cast<std::size_t>(std::max(style.width, 0)));
  std::string text;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::string line;
    for (const std::size_t i : kept) {
      const Column& column = table.columns[i];
      const bool last = i == kept.back();
      const std::string& cell = rows[row][i];
      std::string_view sequence = kBold;
      if (row > 0) sequence = column.color == nullptr ? "" : column.color(cell);
      const std::size_t width = last && !column.right ? 0 : widths[i];
      line += colored(padded(cell, width, column.right), sequence, style.color);
      if (!last) line.append(kGap, ' ');
    }
    text += line + "\n";
  }
  return text;
}

std::string table_markdown(const Table& table) {
  const std::vector<std::vector<std::string>> rows = all_texts(table);
  std::string text;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    text += "|";
    for (const std::string& cell : rows[row]) text += " " + markdown_cell(cell) + " |";
    text += "\n";
    if (row > 0) continue;
    text += "|";
    for (const Column& column : table.columns) text += column.right ? "---:|" : "---|";
    text += "\n";
  }
  return text;
}

std::string table_csv(const Table& table) {
  std::string text;
  const auto append = [&text](std::size_t i, const std::string& cell) {
    if (i > 0) text += ',';
    text += csv_cell(cell);
  };
  for (std::size_t i = 0; i < table.columns.size(); ++i) append(i, table.columns[i].title);
  text += '\n';
  for (const std::vector<Json>& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) append(i, cell_text(row[i], true));
    text += '\n';
  }
  return text;
}

Json table_json(const Table& table) {
  Json rows = Json::array();
  for (const std::vector<Json>& row : table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string key = table.columns[i].title;
      std::replace(key.begin(), key.end(), ' ', '_');
      object[key] = row[i].is_number_float() ? number_or_null(row[i].get<double>()) : row[i];
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace gradstone
