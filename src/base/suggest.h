// SPDX-License-Identifier: Apache-2.0
// The nearest known word to a misspelt one, for error messages. Not a search.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradstone {

// "; did you mean 'Conv'?" for the candidate with the smallest edit distance (insertions,
// deletions, substitutions and swaps of neighbours; case only decides between equals), or "" if
// none is near: at most a third of the word's letters, or one, may differ. The first of equals
// wins. Words over 64 bytes get no suggestion, so foreign text costs nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace gradstone
