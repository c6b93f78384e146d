// SPDX-License-Identifier: Apache-2.0
#include "onnx/upgrade.h"

#include <algorithm>

namespace gradstone::onnx_io {
namespace {

std::vector<UpgradeRule> all_rules() {
  std::vector<UpgradeRule> rules;
  for (const auto part : {old_opset_rules, new_opset_rules, shape_rules}) {
    for (UpgradeRule& rule : part()) rules.push_back(rule);
  }
  return rules;
}

}  // namespace

Status Rewriter::expect_inputs(std::size_t least) const {
  for (std::size_t i = 0; i < least; ++i) {
    if (!has(i)) return unreadable("input " + std::to_string(i) + " is required, but absent");
  }
  return {};
}

Result<std::vector<std::int64_t>> Rewriter::integers(std::size_t input,
                                                     std::string_view what) const {
  const Tensor* value = assembler_.constant(node.inputs.at(input));
  if (value == nullptr) {
    return unsupported(
        std::string(what) +
        " is computed while the network runs; it must be known before, as a constant");
  }
  const DType dtype = value->type().dtype;
  if (value->shape().size() > 1 || (dtype != DType::kInt64 && dtype != DType::kInt32)) {
    return unreadable(std::string(what) + " is " + to_string(value->type()) +
                      "; expected a list of integers");
  }
  std::vector<std::int64_t> list;
  const Tensor wide = converted(value->ref(), DType::kInt64);
  for (const std::int64_t number : wide.as<std::int64_t>()) list.push_back(number);
  return list;
}

Result<std::vector<double>> Rewriter::numbers(std::size_t input, std::string_view what) const {
  const Tensor* value = has(input) ? assembler_.known_value(node.inputs[input]) : nullptr;
  if (value == nullptr) {
    return unsupported(std::string(what) + " is not known before the network runs");
  }
  const Tensor wide = converted(value->ref(), DType::kFloat64);
  const std::span<const double> elements = wide.as<double>();
  return std::vector<double>(elements.begin(), elements.end());
}

std::string Rewriter::constant(std::string_view label, Tensor value) {
  const std::string name = assembler_.reserve(node.name + "/" + std::string(label));
  assembler_.add_constant(name, std::move(value));
  return name;
}

std::string Rewriter::integer_list(std::string_view label,
                                   const std::vector<std::int64_t>& values) {
  return constant(label, Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())},
                                                  std::span<const std::int64_t>(values)));
}

std::string Rewriter::scalar(std::string_view label, double value, DType dtype) {
  return constant(label, converted(Tensor::scalar(value).ref(), dtype));
}

Result<std::string> Rewriter::append(std::string_view label, std::string_view op,
                                     std::vector<std::string> inputs,
                                     std::map<std::string, Attribute> attributes) {
  Node made;
  made.name = node.name + "/" + std::string(label);
  made.op = op;
  made.inputs = std::move(inputs);
  made.outputs = {assembler_.reserve(made.name)};
  made.attributes = std::move(attributes);
  const std::string output = made.outputs[0];
  TRY(assembler_.append(std::move(made)));
  return output;
}

void Rewriter::set_output(std::size_t output, const std::string& value) {
  replaced_ = true;
  if (results_.size() <= output) results_.resize(output + 1);
  results_[output] = value;
}

void Rewriter::set_constant(Tensor value) {
  assembler_.add_constant(node.outputs.at(0), std::move(value));
  set_output(0, node.outputs.at(0));
}

Status upgrade(Rewriter& rewriter, std::int64_t opset) {
  static const std::vector<UpgradeRule> rules = all_rules();
  for (const UpgradeRule& rule : rules) {
    if (rewriter.replaced()) return {};
    // A rule may have made it another operator.
    if (rule.op == rewriter.node.op && opset >= rule.from && opset <= rule.to) {
      TRY(rule.apply(rewriter));
    }
  }
  return {};
}

}  // namespace gradstone::onnx_io
