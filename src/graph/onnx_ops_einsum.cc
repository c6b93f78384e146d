// SPDX-License-Identifier: Apache-2.0
// Einsum: the equation read, and the operator written as MatMul, Mul, ReduceSum and Transpose.
#include <algorithm>
#include <map>
#include <set>

#include "graph/einsum.h"
#include "graph/expansion.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using Labels = std::vector<std::size_t>;

// Keeps counts of terms inside int64.
constexpr std::int64_t kMostTerms = std::int64_t{1} << 60;

// One comma-separated term: letters, with at most one ellipsis before letter `ellipsis`.
struct Term {
  std::string letters;
  std::optional<std::size_t> ellipsis;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Result<Term> term_of(std::string_view text) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_letter(text[i])) {
      term.letters += text[i];
    } else if (text.substr(i, 3) == "..." && !term.ellipsis) {
      term.ellipsis = term.letters.size();
      i += 2;
    } else {
      return unreadable("equation: '" + std::string(text) +
                        "' is no term of letters and at most one ellipsis");
    }
  }
  return term;
}

struct Equation {
  std::vector<Term> operands;
  std::optional<Term> output;
};

Result<Equation> parsed(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  Equation equation;
  std::string_view left = text;
  if (const std::size_t arrow = left.find("->"); arrow != std::string_view::npos) {
    equation.output = TRY(term_of(left.substr(arrow + 2)));
    left = left.substr(0, arrow);
  }
  while (true) {
    const std::size_t comma = left.find(',');
    equation.operands.push_back(TRY(term_of(left.substr(0, comma))));
    if (comma == std::string_view::npos) return equation;
    left = left.substr(comma + 1);
  }
}

// Numbers labels and matches them with extents.
class Matcher {
 public:
  Status add_operand(const Term& term, const Shape& shape) {
    const std::size_t named = term.letters.size();
    if (shape.size() < named || (!term.ellipsis && shape.size() > named)) {
      return unreadable("equation: '" + term.letters + "' does not fit an operand of shape " +
                        to_string(shape));
    }
    const std::size_t hidden = shape.size() - named;
    Labels labels;
    for (std::size_t i = 0; i <= named; ++i) {
      for (std::size_t k = 0; term.ellipsis == i && k < hidden; ++k) {
        labels.push_back(label("..." + std::to_string(hidden - k)));  // counted from the end
        TRY(match(labels.back(), shape[labels.size() - 1], true));
      }
      if (i == named) break;
      ++occurrences_[term.letters[i]];
      labels.push_back(label(std::string(1, term.letters[i])));
      TRY(match(labels.back(), shape[labels.size() - 1], false));
    }
    most_hidden_ = std::max(most_hidden_, hidden);
    equation_.operands.push_back(std::move(labels));
    return {};
  }

  Result<EinsumEquation> with_output(std::optional<Term> term) {
    if (!term) term = implicit_output();
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i <= term->letters.size(); ++i) {
      for (std::size_t k = most_hidden_; term->ellipsis == i && k > 0; --k) {
        equation_.output.push_back(label("..." + std::to_string(k)));
      }
      if (i == term->letters.size()) break;
      const char letter = term->letters[i];
      if (occurrences_.count(letter) == 0) {
        return unreadable("equation: no operand has the output's '" + std::string(1, letter) + "'");
      }
      equation_.output.push_back(label(std::string(1, letter)));
    }
    for (const std::size_t axis : equation_.output) {
      if (!seen.insert(axis).second) return unreadable("equation: the output repeats a letter");
    }
    for (std::size_t i = 0; i < equation_.extents.size(); ++i) {
      if (seen.count(i) == 0) equation_.summed.push_back(i);
    }
    return std::move(equation_);
  }

 private:
  std::size_t label(const std::string& name) {
    const auto [found, added] = numbers_.emplace(name, numbers_.size());
    if (added) equation_.extents.push_back(0);
    return found->second;
  }

  Status match(std::size_t label, std::int64_t extent, bool broadcasts) {
    std::int64_t& known = equation_.extents[label];
    if (known == 0 || (broadcasts && known == 1)) known = extent;
    if (known == extent || (broadcasts && extent == 1)) return {};
    return unreadable("equation: extents " + std::to_string(known) + " and " +
                      std::to_string(extent) + " stand for the same axis");
  }

  Term implicit_output() const {
    Term term{"", 0};
    for (const auto& [letter, count] : occurrences_) {
      if (count == 1) term.letters += letter;
    }
    return term;
  }

  EinsumEquation equation_;
  std::map<std::string, std::size_t> numbers_;
  std::map<char, int> occurrences_;
  std::size_t most_hidden_ = 0;
};

OutputTypes infer_einsum(const NodeContext& context) {
  if (context.inputs[0]->dtype == DType::kBool) {
    return unreadable("the first input is bool; expected numbers");
  }
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    TRY(expect_like_first(context, i, "input " + std::to_string(i)));
  }
  const EinsumEquation equation = TRY(einsum_of(context));
  if (saturating_product(1, equation.extents) > kMostTerms) {
    return unreadable("the axes together have more than 2^60 elements");
  }
  TensorType type{context.inputs[0]->dtype, {}};
  for (const std::size_t label : equation.output) type.shape.push_back(equation.extents[label]);
  return std::vector<TensorType>{type};
}

// As the defining sum has them: for each element of all axes together a product between operands,
// and an addition if anything is summed.
std::int64_t einsum_flops(const NodeContext& context, std::span<const TensorType>) {
  const EinsumEquation equation = einsum_of(context).value();
  const auto products = static_cast<std::int64_t>(equation.operands.size()) - 1;
  return saturating_product(products + (equation.summed.empty() ? 0 : 1), equation.extents);
}

// A value whose axes have labels.
struct Labelled {
  std::string value;
  Labels labels;
};

bool contains(const Labels& labels, std::size_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

class EinsumExpander {
 public:
  EinsumExpander(NodeBuilder& builder, EinsumEquation equation)
      : b_(builder), equation_(std::move(equation)) {}

  std::string result() {
    Labelled all = operand(0);
    for (std::size_t i = 1; i < equation_.operands.size(); ++i) {
      all = product(all, operand(i), needed_after(i));
    }
    return in_order(all, equation_.output).value;
  }

 private:
  // Labels that the output or an operand behind `last` has.
  Labels needed_after(std::size_t last) const {
    Labels needed = equation_.output;
    for (std::size_t i = last + 1; i < equation_.operands.size(); ++i) {
      needed.insert(needed.end(), equation_.operands[i].begin(), equation_.operands[i].end());
    }
    return needed;
  }

  // Operand `index` with each label once, summed over those that nothing else has.
  Labelled operand(std::size_t index) {
    Labelled x{b_.input(index), equation_.operands[index]};
    while (take_diagonal(x)) {
    }
    Labels others = equation_.output;
    for (std::size_t i = 0; i < equation_.operands.size(); ++i) {
      if (i == index) continue;
      others.insert(others.end(), equation_.operands[i].begin(), equation_.operands[i].end());
    }
    return summed(x, others);
  }

  Labelled summed(const Labelled& x, const Labels& kept) {
    Labelled result{"", {}};
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < x.labels.size(); ++i) {
      if (contains(kept, x.labels[i])) {
        result.labels.push_back(x.labels[i]);
      } else {
        axes.push_back(static_cast<std::int64_t>(i));
      }
    }
    result.value = b_.sum(x.value, axes, false);
    return result;
  }

  // Replaces the first two axes with the same label by their diagonal, as the last axis.
  bool take_diagonal(Labelled& x) {
    for (std::size_t i = 0; i < x.labels.size(); ++i) {
      for (std::size_t k = i + 1; k < x.labels.size(); ++k) {
        if (x.labels[i] == x.labels[k]) {
          x = diagonal(x, i, k);
          return true;
        }
      }
    }
    return false;
  }

  Labelled diagonal(const Labelled& x, std::size_t first, std::size_t second) {
    std::vector<std::int64_t> order, places;
    Labelled result{"", {}};
    Shape flat;
    for (std::size_t i = 0; i < x.labels.size(); ++i) {
      if (i == first || i == second) continue;
      order.push_back(static_cast<std::int64_t>(i));
      result.labels.push_back(x.labels[i]);
      flat.push_back(b_.shape_of(x.value)[i]);
    }
    order.push_back(static_cast<std::int64_t>(first));
    order.push_back(static_cast<std::int64_t>(second));
    const std::int64_t extent = b_.shape_of(x.value)[first];
    flat.push_back(extent * extent);
    for (std::int64_t i = 0; i < extent; ++i) places.push_back(i * (extent + 1));
    const std::string last = b_.append("transpose", "Transpose", {x.value}, {{"perm", order}});
    result.value = b_.append("diagonal", "Gather", {b_.reshape(last, flat), b_.integers(places)},
                             {{"axis", std::int64_t{-1}}});
    result.labels.push_back(x.labels[first]);
    return result;
  }

  Labelled in_order(const Labelled& x, const Labels& labels) {
    std::vector<std::int64_t> order;
    for (const std::size_t label : labels) {
      const auto place = std::find(x.labels.begin(), x.labels.end(), label);
      order.push_back(place - x.labels.begin());
    }
    if (std::is_sorted(order.begin(), order.end())) return x;
    return {b_.append("transpose", "Transpose", {x.value}, {{"perm", order}}), labels};
  }

  Shape extents_of(const Labelled& x, const Labels& labels) {
    Shape shape;
    for (const std::size_t label : labels) {
      const auto place = std::find(x.labels.begin(), x.labels.end(), label);
      shape.push_back(b_.shape_of(x.value)[static_cast<std::size_t>(place - x.labels.begin())]);
    }
    return shape;
  }

  // Axes [batch..., rows, columns], the last two being products of extents.
  std::string matrices(const Labelled& x, const Labels& batch, const Labels& rows,
                       const Labels& columns) {
    Labels order = batch;
    order.insert(order.end(), rows.begin(), rows.end());
    order.insert(order.end(), columns.begin(), columns.end());
    const Labelled moved = in_order(x, order);
    Shape shape = extents_of(moved, batch);
    shape.push_back(element_count(extents_of(moved, rows)));
    shape.push_back(element_count(extents_of(moved, columns)));
    return b_.reshape(moved.value, shape);
  }

  // `x` with its axes of labels in `labels` broadcast to their full extent.
  Labelled stretched(const Labelled& x, const Labels& labels) {
    Shape shape = b_.shape_of(x.value);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (contains(labels, x.labels[i])) shape[i] = equation_.extents[x.labels[i]];
    }
    return {b_.expand(x.value, shape), x.labels};
  }

  // Shared labels that are needed later make a batch of matrices, the others are contracted.
  Labelled product(const Labelled& x, const Labelled& y, const Labels& needed) {
    Labels batch, contracted, left, right;
    for (const std::size_t label : x.labels) {
      if (!contains(y.labels, label)) {
        left.push_back(label);
      } else {
        (contains(needed, label) ? batch : contracted).push_back(label);
      }
    }
    for (const std::size_t label : y.labels) {
      if (!contains(x.labels, label)) right.push_back(label);
    }
    const Labelled a = stretched(x, contracted), c = stretched(y, contracted);
    const std::string first = matrices(a, batch, left, contracted);
    const std::string second = matrices(c, batch, contracted, right);
    // Nothing contracted: columns by rows of extent 1 broadcast.
    const std::string z = contracted.empty() ? b_.mul(first, second) : b_.matmul(first, second);
    Labelled result{"", batch};
    Shape shape(b_.shape_of(z).begin(), b_.shape_of(z).end() - 2);
    for (const auto& [from, labels] : {std::pair(&a, &left), std::pair(&c, &right)}) {
      const Shape extents = extents_of(*from, *labels);
      shape.insert(shape.end(), extents.begin(), extents.end());
      result.labels.insert(result.labels.end(), labels->begin(), labels->end());
    }
    result.value = b_.reshape(z, shape);
    return result;
  }

  NodeBuilder& b_;
  EinsumEquation equation_;
};

Status expand_einsum(ExpansionBuilder& b) {
  const NodeInputs inputs = b.node_inputs();
  b.set_output(0, EinsumExpander(b, TRY(einsum_of(inputs.context()))).result());
  return {};
}

}  // namespace

Result<EinsumEquation> einsum_of(const NodeContext& context) {
  Equation equation = TRY(parsed(attribute_or(context.node, "equation", std::string_view(""))));
  if (equation.operands.size() != context.inputs.size()) {
    return unreadable("equation has " + std::to_string(equation.operands.size()) +
                      " operands, the node " + std::to_string(context.inputs.size()));
  }
  Matcher matcher;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    TRY(matcher.add_operand(equation.operands[i], context.inputs[i]->shape));
  }
  return matcher.with_output(std::move(equation.output));
}

std::vector<OpDef> einsum_rows() {
  return {{.name = "Einsum",
           .max_inputs = kVariadic,
           .attributes = {{"equation", AttributeKind::kString, true}},
           .infer = infer_einsum,
           .flops = einsum_flops,
           .multiply_adds = true,
           .expand = expand_einsum,
           .summary = "Sums of products of axes named by letters, with ellipsis and diagonals"}};
}

}  // namespace gradstone
