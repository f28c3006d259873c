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

/* out_ij = sum_k X_ik Z_kj, added up in the order of k: the bits of a row of out depend on that row
 * of X and on Z alone, not on the other rows, and not on the processor.
 *
 * Shapes: X (m, d), Z (d, n), out (m, n), rows x_stride, z_stride and out_stride apart. */
#define ROWS 4
#define COLUMNS 8

typedef double four __attribute__((vector_size(32), aligned(8)));

static inline four four_at(const double *from) {
  four x;
  memcpy(&x, from, sizeof x);
  return x;
}

/* A piece of 1 or ROWS rows and COLUMNS columns, its sums in registers. */
static inline void product_piece(const int rows, int64_t d, const double *X, int64_t x_stride,
                                 const double *Z, int64_t z_stride, double *out,
                                 int64_t out_stride) {
  four sum[ROWS][COLUMNS / 4];
  memset(sum, 0, sizeof sum);
  for (int64_t k = 0; k < d; k++) {
    four z[COLUMNS / 4];
    for (int j = 0; j < COLUMNS / 4; j++) z[j] = four_at(Z + k * z_stride + 4 * j);
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < COLUMNS / 4; j++) sum[i][j] += X[i * x_stride + k] * z[j];
  }
  for (int i = 0; i < rows; i++) memcpy(out + i * out_stride, sum[i], sizeof sum[i]);
}

PUBLIC int EXPORTED(products_by_row)(int64_t m, int64_t n, int64_t d, const double *X,
                                     int64_t x_stride, const double *Z, int64_t z_stride,
                                     double *out, int64_t out_stride) {
  int64_t whole = n - n % COLUMNS;
  for (int64_t i = 0; i < m; i += ROWS) {
    const double *x = X + i * x_stride;
    double *to = out + i * out_stride;
    int64_t rows = m - i < ROWS ? m - i : ROWS;
    for (int64_t j = 0; j < whole; j += COLUMNS)
      if (rows == ROWS)
        product_piece(ROWS, d, x, x_stride, Z + j, z_stride, to + j, out_stride);
      else
        for (int64_t a = 0; a < rows; a++)
          product_piece(1, d, x + a * x_stride, 0, Z + j, z_stride, to + a * out_stride + j, 0);
    for (int64_t a = 0; a < rows; a++)
      for (int64_t j = whole; j < n; j++) {
        double sum = 0.0;
        for (int64_t k = 0; k < d; k++) sum += x[a * x_stride + k] * Z[k * z_stride + j];
        to[a * out_stride + j] = sum;
      }
  }
  return DONE;
}
