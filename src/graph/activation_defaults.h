// SPDX-License-Identifier: Apache-2.0
// Defaults of attributes that shape rules, gradients and kernels share.
#pragma once

namespace gradstone {

// Of Selu (Klambauer et al. 2017, as ONNX rounds them to float32).
inline constexpr double kSeluAlpha = 1.67326319217681884765625;
inline constexpr double kSeluGamma = 1.05070102214813232421875;

}  // namespace gradstone
