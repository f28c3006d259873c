/* The best intercept for given decision values, and the losses of conditions.
 *
 * Condition i asks for s_i (f_i + b) >= p_i, or close to p_i. It is missed by
 *
 *     v_i = p_i - s_i (f_i + b)
 *
 * which costs  loss_i(v) = max over lower_i <= a <= upper_i of  a v - d_i a^2 / 2:  a kink at v = 0
 * between the slopes lower_i and upper_i, drawn out to a ramp of curvature 1 / d_i where d_i > 0.
 * Prices are within the slopes. The hinge is (0, C, 0), the squared hinge (0, infinite, 1 / (2 C)),
 * a tube two conditions per sample, a quantile ((tau - 1) C, tau C, 0), and so on: every family is
 * described by these three numbers per condition.
 */

#include "common.h"

struct conditions {
  int64_t size;           /* n */
  const int64_t *rows;    /* (n,) condition i is about values[rows[i]]; NULL: about values[i] */
  const double *signs;    /* (n,) s, of -1 and 1; NULL: 1 */
  const double *required; /* (n,) p */
  const double *values;   /* f, without intercept */
  const double *lower;    /* (n,) */
  const double *upper;    /* (n,) >= lower */
  const double *curved;   /* (n,) d >= 0; NULL: 0 */
  double only;            /* 1 or -1: the best intercept is that of conditions with this sign; 0 */
};

static inline int is_finite(double x) { return x - x == 0.0; }

/* The slope of the loss at v: the maximiser of a v - d a^2 / 2. At a kink the one nearer zero. */
static inline double slope(double v, double lower, double upper, double d) {
  if (d > 0.0) return smaller(larger(v / d, lower), upper);
  if (v > 0.0) return upper;
  if (v < 0.0) return lower;
  return smaller(larger(0.0, lower), upper);
}

/* Doubles in their order as integers: between any two there are at most 64 halvings. */
static inline int64_t key_of(double x) {
  int64_t k;
  memcpy(&k, &x, sizeof k);
  return k < 0 ? INT64_MIN - k : k;
}

static inline double double_of(int64_t k) {
  double x;
  if (k < 0) k = INT64_MIN - k;
  memcpy(&x, &k, sizeof x);
  return x;
}

/* One condition as a function of the intercept: the derivative of its loss rises from -upper to
 * -lower, at t or between begin and end. mirror = -1 turns the axis round. */
struct step {
  double t, lower, upper, d, begin, end;
};

static inline struct step step_of(const struct conditions *c, int64_t i, double mirror) {
  double s = (c->signs ? c->signs[i] : 1.0);
  double t = s * c->required[i] - c->values[c->rows ? c->rows[i] : i];
  double side = mirror * s, d = c->curved ? c->curved[i] : 0.0;
  struct step r;
  r.t = mirror * t;
  r.lower = side > 0.0 ? c->lower[i] : -c->upper[i];
  r.upper = side > 0.0 ? c->upper[i] : -c->lower[i];
  r.d = d;
  r.begin = d > 0.0 ? r.t - d * r.upper : r.t;
  r.end = d > 0.0 ? r.t - d * r.lower : r.t;
  return r;
}

/* total += sign * x / d, the quotient with its remainder. */
static inline void add_quotient(struct pair *total, double x, double d, double sign) {
  double q = x / d;
  struct pair back = two_product(q, d);
  add(total, sign * q);
  total->low += sign * (((x - back.high) - back.low) / d);
}

/* What is certain about the derivative between two bounds: constant + linear * b, and the
 * conditions whose form is still open there. */
struct known_terms {
  struct pair constant, linear;
  int64_t *open, n_open;
};

/* The derivative of one condition's loss just right of b is added to a total. */
static inline void add_derivative(struct pair *total, struct step r, double b) {
  if (b >= r.end)
    add(total, -r.lower);
  else if (b < r.begin || r.d == 0.0)
    add(total, -r.upper);
  else {
    struct pair x = two_sum(r.t, -b);
    add_quotient(total, x.high, r.d, -1.0);
    total->low -= x.low / r.d;
  }
}

/* Move conditions from the open ones to the known ones, those with one form on (low, high], and
 * return the derivative just right of b, cost - sum of a_i(t_i - b), for low <= b <= high. */
static double narrow(const struct conditions *c, double mirror, double low, double high, double b,
                     struct known_terms *known) {
  int64_t left = 0;
  struct pair total = {0.0, 0.0};
  for (int64_t k = 0; k < known->n_open; k++) {
    int64_t i = known->open[k];
    struct step r = step_of(c, i, mirror);
    int is_ramp = r.d > 0.0;
    if (r.end <= low || (!is_ramp && r.upper - r.upper != 0.0))
      add(&known->constant, -r.lower);
    else if (is_ramp ? r.begin >= high : r.begin > high || r.lower - r.lower != 0.0)
      add(&known->constant, -r.upper);
    else if (is_ramp && r.begin <= low && r.end >= high) {
      add_quotient(&known->constant, r.t, r.d, -1.0);
      add_quotient(&known->linear, 1.0, r.d, 1.0);
    } else {
      known->open[left++] = i;
      add_derivative(&total, r, b);
    }
  }
  known->n_open = left;
  total.low += known->constant.low + known->linear.low * b;
  add(&total, known->constant.high);
  add_product(&total, known->linear.high, b);
  return rounded(total);
}

/* The same derivative without moving conditions. */
static double derivative(const struct conditions *c, double mirror, double b,
                         const struct known_terms *known) {
  struct pair total = known->constant;
  add_product(&total, known->linear.high, b);
  total.low += known->linear.low * b;
  for (int64_t k = 0; k < known->n_open; k++)
    add_derivative(&total, step_of(c, known->open[k], mirror), b);
  return rounded(total);
}

/* The smallest minimiser. *is_single says whether the derivative is above flat right of it. */
static double least_minimiser(const struct conditions *c, double mirror, double cost, double flat,
                              int64_t *open, int *is_single) {
  double low = -INFINITE, high = INFINITE, first = INFINITE, last = -INFINITE;
  struct known_terms known = {{cost, 0.0}, {0.0, 0.0}, open, 0};
  for (int64_t i = 0; i < c->size; i++) {
    struct step r = step_of(c, i, mirror);
    if (c->only != 0.0 && c->signs[i] != c->only) continue;
    open[known.n_open++] = i;
    if (r.d == 0.0 && !is_finite(r.upper)) low = larger(low, r.t);
    if (r.d == 0.0 && !is_finite(r.lower)) high = smaller(high, r.t);
    first = smaller(first, is_finite(r.begin) ? r.begin : r.t);
    last = larger(last, is_finite(r.end) ? r.end : r.t);
  }
  *is_single = 0;
  if (low >= high) { /* conditions that leave one point, or none: the one that misses by least */
    *is_single = 1;
    return low == high ? low : high + 0.5 * (low - high);
  }
  narrow(c, mirror, -INFINITE, INFINITE, 0.0, &known); /* infinite slopes leave the sums */
  if (derivative(c, mirror, is_finite(low) ? low : -DBL_MAX, &known) >= -flat) return low;
  if (!is_finite(high) && derivative(c, mirror, DBL_MAX, &known) < -flat) return INFINITE;

  /* at `low` the derivative is below -flat, at `high` it is not. An infinite slope of a ramp has
   * no first corner: begin far away, where the ramp decides */
  int64_t from = is_finite(low) ? key_of(low) : key_of(first) - 1;
  int64_t to = is_finite(high) ? key_of(high) : key_of(last);
  while (!is_finite(low) && from > key_of(-DBL_MAX) &&
         derivative(c, mirror, double_of(from), &known) >= -flat)
    from = key_of(double_of(from) > -1.0 ? -1.0 : larger(64.0 * double_of(from), -DBL_MAX));
  while (!is_finite(high) && to < key_of(DBL_MAX) &&
         derivative(c, mirror, double_of(to), &known) < -flat)
    to = key_of(double_of(to) < 1.0 ? 1.0 : smaller(64.0 * double_of(to), DBL_MAX));
  for (int64_t before = 0; to > from + 1;) {
    /* half of the interval, or, where that leaves most conditions open, half of its doubles: of
     * these turns there are at most 64, of the others as many as it takes to narrow all by tenths */
    int64_t middle = key_of(0.5 * double_of(from) + 0.5 * double_of(to));
    if (10 * known.n_open > 9 * before && before > 0)
      middle = from / 2 + to / 2 + (from % 2 + to % 2) / 2;
    if (middle <= from) middle = from + 1;
    if (middle >= to) middle = to - 1;
    before = known.n_open;
    double at_middle =
        narrow(c, mirror, double_of(from), double_of(to), double_of(middle), &known);
    if (known.n_open == 0) break;
    if (at_middle < -flat)
      from = middle;
    else
      to = middle;
  }
  double b = double_of(to);
  if (known.n_open == 0 && known.linear.high > 0.0) {
    /* constant + linear b = 0, once more for the remainder */
    double x = -rounded(known.constant) / rounded(known.linear);
    for (int k = 0; k < 2; k++) x -= derivative(c, mirror, x, &known) / rounded(known.linear);
    /* strictly inside the derivative rises; at the end a flat piece may follow */
    *is_single = x < b - 1e-12 * (b < 0.0 ? -b : b);
    b = smaller(larger(x, double_of(from)), b);
  } else
    *is_single = derivative(c, mirror, b, &known) > flat;
  return b;
}

/* All minimisers of  phi(b) = cost b + sum_i loss_i(p_i - s_i (f_i + b)),  an interval.
 *
 * ends (2,) are the first and the last; either may be infinite. Where there are only kinks, pieces
 * whose slope is within `flat` of zero count as flat: costs that should cancel do so but for
 * rounding. Where hard conditions (infinite slopes at a kink) leave no b, both ends are the b that
 * misses them by least. open (n,) is work. NOT_FINITE: a target is not. UNBOUNDED: phi has no
 * minimum; both ends are at the infinite side.
 */
PUBLIC int EXPORTED(optimal_intercepts)(const struct conditions *c, double cost, double flat,
                                     int64_t *open, double *ends) {
  int is_single;
  for (int64_t i = 0; i < c->size; i++) {
    struct step r = step_of(c, i, 1.0);
    if (!is_finite(r.t)) return NOT_FINITE;
    if (r.d > 0.0) flat = 0.0;
  }
  ends[0] = least_minimiser(c, 1.0, cost, flat, open, &is_single);
  ends[1] = ends[0];
  if (ends[0] == INFINITE) return UNBOUNDED;
  if (!is_single) ends[1] = -least_minimiser(c, -1.0, -cost, flat, open, &is_single);
  if (ends[1] == -INFINITE) {
    ends[0] = -INFINITE;
    return UNBOUNDED;
  }
  ends[1] = larger(ends[0], ends[1]);
  return DONE;
}
