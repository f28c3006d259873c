/* Bounds on a duality gap that include the errors of decision values. Conditions and losses are
 * those of intercept.c. */

#include "common.h"

/* loss_i(v) + d x^2 / 2 - x v for an x in the box of the slopes: zero where x is the slope. */
static inline double apart(double v, double x, double lower, double upper, double d) {
  double a = slope(v, lower, upper, d);
  if (a == x) return 0.0;
  double term = (a - x) * (v - 0.5 * d * (a + x));
  return term < 0.0 ? 0.0 : term; /* NaN stays NaN */
}

/* With alpha (n,) in the box, the intercept b, p_i - shift in place of p_i in v_i (the shift of a
 * width), and bounds on the errors of the values:
 *
 *     0  sum of the largest of  loss_i(v) + d_i alpha_i^2 / 2 - alpha_i v  at v_i and v_i +- e_i
 *     1  sum loss_i(v_i)       2  sum p_i alpha_i       3  sum d_i alpha_i^2 / 2
 *     4  sum s_i alpha_i, exact but for one rounding
 *     5  sum e_i max(|slope_i(v_i + e_i)|, |slope_i(v_i - e_i)|)
 *     6  max |alpha_i - clip(alpha_i - (d_i alpha_i - v_i) u_i / size, lower_i, upper_i)| / u_i,
 *        u_i = min(largest |alpha|, largest end of the box): how far alpha_i is from its KKT case,
 *        where violations are measured in units of `size`
 *
 * where e_i = errors[row] + 4 u (|f_i| + |b| + |p_i| + |shift|) covers the rounding of v_i as well. Values
 * and errors that are not finite leave NaN in the first sum. errors has the shape of the values,
 * sums (7,). Returns the first sum at v_i alone, as if there were no errors. */
static double condition_bounds(const struct conditions *c, const double *errors,
                             const double *alpha, double b, double shift, double size,
                             double *sums) {
  double total[4] = {0.0, 0.0, 0.0, 0.0}, passed = 0.0, worst = 0.0, largest = DBL_MIN, plain = 0.0;
  struct pair balance = {0.0, 0.0};
  for (int64_t i = 0; i < c->size; i++)
    largest = larger(alpha[i] < 0.0 ? -alpha[i] : alpha[i], largest);
  for (int64_t i = 0; i < c->size; i++) {
    double s = c->signs ? c->signs[i] : 1.0, d = c->curved ? c->curved[i] : 0.0;
    int64_t row = c->rows ? c->rows[i] : i;
    double f = c->values[row], x = alpha[i], p = c->required[i];
    double v = (p - shift) - s * (f + b);
    double terms = (f < 0.0 ? -f : f) + (b < 0.0 ? -b : b) + (p < 0.0 ? -p : p);
    terms += shift < 0.0 ? -shift : shift;
    double e = errors[row] + 2.0 * DBL_EPSILON * terms, lower = c->lower[i], upper = c->upper[i];
    double middle = apart(v, x, lower, upper, d);
    double above = apart(v + e, x, lower, upper, d), below = apart(v - e, x, lower, upper, d);
    double most = above > middle ? above : middle;
    most = below > most ? below : most;
    plain += middle;
    total[0] += most + (v - v) + (e - e); /* NaN and infinity are refused */
    double a = slope(v, lower, upper, d);
    total[1] += a * v - 0.5 * d * a * a;
    total[2] += p * x;
    total[3] += 0.5 * d * x * x;
    add(&balance, s * x);
    double up = slope(v + e, lower, upper, d), down = slope(v - e, lower, upper, d);
    up = up < 0.0 ? -up : up;
    down = down < 0.0 ? -down : down;
    passed += e * (up > down ? up : down);
    double end = larger(lower < 0.0 ? -lower : lower, upper < 0.0 ? -upper : upper);
    double unit = smaller(end, largest);
    double target = smaller(larger(x / unit - (d * x - v) / size, lower / unit), upper / unit);
    double off = x / unit - target;
    off = off < 0.0 ? -off : off;
    worst = worst > off || worst != worst ? worst : off; /* NaN stays */
  }
  sums[0] = total[0];
  sums[1] = total[1];
  sums[2] = total[2];
  sums[3] = total[3];
  sums[4] = rounded(balance);
  sums[5] = passed;
  sums[6] = worst;
  return plain;
}
