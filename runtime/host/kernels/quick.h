// A float whose functions compilers can vectorise. The fast kernels of element-wise operators evaluate the operators'
// own definitions with it, so that the meaning is written once.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/core/scalar.h"

namespace taso::runtime {

struct Quick {
  float value = 0;
  friend Quick operator+(Quick a, Quick b) { return {a.value + b.value}; }
  friend Quick operator-(Quick a, Quick b) { return {a.value - b.value}; }
  friend Quick operator*(Quick a, Quick b) { return {a.value * b.value}; }
};

/// Within 4 units in the last place of the exact values, for all floats; the coefficients are minimax fits.
struct QuickMath {
  static Quick constant(double value) { return {static_cast<float>(value)}; }
  static Quick divide(Quick a, Quick b) { return {a.value / b.value}; }
  static Quick maximum(Quick a, Quick b) { return {((a.value > b.value) | (a.value != a.value)) ? a.value : b.value}; }
  static Quick minimum(Quick a, Quick b) { return {((a.value < b.value) | (a.value != a.value)) ? a.value : b.value}; }
  static Quick lowest() { return {-std::numeric_limits<float>::infinity()}; }
  static Quick exp(Quick a) { return {exp_of(a.value)}; }
  static Quick erf(Quick a) { return {erf_of(a.value)}; }
  static Quick tanh(Quick a) { return {tanh_of(a.value)}; }
  static Quick sqrt(Quick a) { return {std::sqrt(a.value)}; }
  static Quick pow(Quick a, Quick b) { return {std::pow(a.value, b.value)}; }
  static Quick sqrt_two() { return {std::numbers::sqrt2_v<float>}; }

 private:
  static float exp_of(float x) {
    // exp(x) = 2^n exp(r) with |r| <= log(2)/2. The comparisons keep NaN.
    x = x > 89.0F ? 89.0F : x;
    x = x < -105.0F ? -105.0F : x;
    constexpr float rounder = 12582912.0F;  // adding 3 * 2^22 leaves the nearest integer in the lowest bits
    const float shifted = x * 1.44269504F + rounder;
    const float n = shifted - rounder;
    const float r = (x - n * 0.693145752F) - n * 1.42860677e-6F;
    const float p =
        (((0.0013814569683745503F * r + 0.008368730545043945F) * r + 0.04166838899254799F) * r + 0.1666652113199234F) *
            r +
        0.4999999403953552F;
    const float power = (p * r * r + r) + 1.0F;
    // 2^n in two factors: n ranges from the smallest subnormal to beyond the largest number.
    const auto whole =
        static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(rounder));
    const std::int32_t half = whole >> 1;
    return power * two_to(half) * two_to(whole - half);
  }
  static float two_to(std::int32_t n) { return std::bit_cast<float>((static_cast<std::uint32_t>(n) + 127u) << 23); }

  static float tanh_of(float x) {
    const float size = std::fabs(x), z = x * x;
    const float p =
        (((-0.005905866622924805F * z + 0.02080538310110569F) * z - 0.053786683827638626F) * z + 0.13331958651542664F) *
            z -
        0.33333298563957214F;
    const float near = x + x * (p * z);
    const float far = std::copysign(1.0F - 2.0F / (exp_of(size + size) + 1.0F), x);
    return size < 0.6F ? near : far;
  }

  static float erf_of(float x) {
    const float size = std::fabs(x), z = x * x;
    const float p = ((((-0.0006090353708714247F * z + 0.005011961329728365F) * z - 0.02677890844643116F) * z +
                      0.11282140761613846F) *
                         z -
                     0.3761252462863922F) *
                        z +
                    1.1283791065216064F;
    // erfc(t) = exp(-q(t)); from 4 on erf is 1.
    const float t = size > 4.0F ? 4.0F : size;
    float q = 6.628119422202872e-07F;
    q = q * t + 1.2330011486483272e-05F;
    q = q * t - 0.00038478572969324887F;
    q = q * t + 0.004013397265225649F;
    q = q * t - 0.024812797084450722F;
    q = q * t + 0.10790570825338364F;
    q = q * t + 0.6336272954940796F;
    q = q * t + 1.1293970346450806F;
    q = q * t - 0.0001533826725790277F;
    const float far = std::copysign(1.0F - exp_of(-q), x);
    return size < 0.9F ? x * p : far;
  }
};

}  // namespace taso::runtime

namespace taso::ops {

template <>
struct Math<runtime::Quick> : runtime::QuickMath {};

}  // namespace taso::ops
