/* Kernel values in place of products: the exponential with a bound on its error. */

#include "common.h"

/* exp(x) for x <= 0, by exp(x) = 2^k exp(r) with k = round(x / log 2) and r = x - k log 2 from two
 * parts of log 2 (Cody and Waite; k times the first part is exact), and exp(r) = 1 + r + r^2 q(r)
 * with q of degree 9, interpolated at Chebyshev's nodes: a relative error of at most 1.7e-17 for
 * |r| <= 0.3466. -745.2 and less give 0, NaN gives NaN.
 *
 * Error, in ulp of a result in [0.7, 1), where they are smallest: the last addition 1/2, the one
 * before it 1/4, r 1/4, r^2 q(r) 0.2, q itself 0.15: less than 1.5. A denormal result is rounded
 * once more, to multiples of which the rest is at most half as much.
 *
 * 2^k is the product of two powers with exponents that fit, so that only the last product rounds
 * where the result is denormal. Adding 1.5 2^52 rounds to an integer and leaves it in the low bits.
 */
static inline double exponential(double x) {
  const double to_integer = 6755399441055744.0, per_log = 1.4426950408889634;
  const double log_high = 0.6931471803691238, log_low = 1.9082149292705877e-10;
  union { double number; uint64_t bits; } first, second;
  x = x < -746.0 ? -746.0 : x;
  double k = (x * per_log + to_integer) - to_integer;
  double r = (x - k * log_high) - k * log_low;
  double s = r * r;
  /* pairs of coefficients (Estrin) instead of a chain: four times shorter */
  double q01 = 0.5000000000000001 + 0.16666666666666669 * r;
  double q23 = 0.04166666666662413 + 0.008333333333330062 * r;
  double q45 = 0.0013888888917213717 + 0.00019841269863053618 * r;
  double q67 = 2.4801521295954376e-05 + 2.7557268459997064e-06 * r;
  double q89 = 2.7620088445409746e-07 + 2.510038549551032e-08 * r;
  double t = s * s;
  double q = (q01 + q23 * s) + t * ((q45 + q67 * s) + t * q89);
  double value = 1.0 + (r + s * q);
  double half = (0.5 * k + to_integer) - to_integer;
  first.number = half + to_integer;
  second.number = (k - half) + to_integer;
  first.bits = (first.bits + 1023u) << 52;
  second.bits = (second.bits + 1023u) << 52;
  return (value * first.number) * second.number;
}

/* tile_ij <- exp(-gamma max(0, r_i + c_j - 2 tile_ij)), in place.
 *
 * Shapes: tile (m, n), row i at tile + i * stride; r (m,) and c (n,) squared norms, tile their
 * inner products: then this is the RBF kernel. gamma >= 0. NaN stays NaN, an infinite distance
 * gives 0. One pass over the tile, which should fit into a core's cache.
 */
PUBLIC int EXPORTED(exponent_tile)(int64_t m, int64_t n, int64_t stride, double gamma,
                                   const double *r, const double *c, double *tile) {
  for (int64_t i = 0; i < m; i++) {
    double *restrict row = tile + i * stride;
    double own = r[i];
    for (int64_t j = 0; j < n; j++) {
      double distance = (own + c[j]) - 2.0 * row[j];
      distance = distance < 0.0 ? 0.0 : distance;
      row[j] = exponential(-gamma * distance);
    }
  }
  return DONE;
}
