/* One small machine on its whole kernel matrix: dual points, and what certifies them.
 *
 * With labels s the variables are v_i = s_i a_i, as for steps of pairs (pairs.c). Runs of these find
 * which variables are at a bound; over the others the dual is a quadratic function on a plane, whose
 * minimum is one linear system away. Conditions and losses are those of intercept.c.
 */

#include "common.h"

/* N conditions on n samples. Decision values are K beta with beta_j = sum_{rows_i = j} s_i a_i, or
 * X w with w = X'beta where the samples have features. */
struct machine {
  int64_t size, samples; /* N, n */
  int64_t stride;
  const double *K;     /* (n, n), rows `stride` apart */
  const int64_t *rows; /* (N,) the sample of every condition; NULL: condition i is about sample i */
  const double *signs, *required, *lower, *upper; /* (N,) */
  const double *curved;                           /* (N,) d > 0; NULL: 0 */
  int64_t is_free;                                /* whether signs'a = cost */
  double constant;                                /* what a penalised intercept adds to K */
  double cost;                                    /* of a free intercept */
  double side, total; /* side -1 (a margin to widen) or 1 (a tube to narrow): 1'a = total; 0: none */
  const struct pieces *pieces; /* where the samples lie in K, without rows; NULL: K is theirs */
};

/* How many sums bound the gap of a machine. */
#define SUMS 17

static inline double size_of(double x) { return x < 0.0 ? -x : x; }

/* The row of sample j. */
static inline const double *sample_row(const struct machine *m, int64_t j) {
  return m->pieces ? copied_row(m->pieces, j) : m->K + j * m->stride;
}

static inline const double *kernel_row_of(const struct machine *m, int64_t i) {
  return sample_row(m, m->rows ? m->rows[i] : i);
}

static inline double kernel_entry(const struct machine *m, const double *row, int64_t j) {
  return row[m->rows ? m->rows[j] : j];
}

static inline double sum_of_eight(const double *s) {
  return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
}

/* x'y over n entries, in eight accumulators. */
static inline double product(int64_t n, const double *x, const double *y) {
  double sum[8] = {0.0}, rest = 0.0;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++) sum[k] += x[i + k] * y[i + k];
  for (; i < n; i++) rest += x[i] * y[i];
  return sum_of_eight(sum) + rest;
}

/* x -= c_0 y_0 + ... + c_3 y_3 over n entries, with rows y that are `stride` apart. */
static inline void subtract_four(int64_t n, const double *c, const double *y, int64_t stride,
                                 double *restrict x) {
  const double *y1 = y + stride, *y2 = y1 + stride, *y3 = y2 + stride;
  for (int64_t k = 0; k < n; k++)
    x[k] -= (c[0] * y[k] + c[1] * y1[k]) + (c[2] * y2[k] + c[3] * y3[k]);
}

static inline void subtract(int64_t n, double c, const double *y, double *restrict x) {
  for (int64_t k = 0; k < n; k++) x[k] -= c * y[k];
}

/* Solve A z = x for a symmetric positive definite matrix whose lower triangle is given, in place of
 * both: A = U'D^-1 U, four rows of U = D L' at a time. Returns 0 where a pivot is not positive. */
static int solve(int64_t n, double *A, double *x) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < i; j++) A[j * n + i] = A[i * n + j];
  for (int64_t first = 0; first < n; first += 4) {
    int64_t end = first + 4 <= n ? first + 4 : n;
    for (int64_t i = first; i < end; i++) {
      for (int64_t j = first; j < i; j++)
        subtract(n - i, A[j * n + i] / A[j * n + j], A + j * n + i, A + i * n + i);
      if (!(A[i * n + i] > 0.0)) return 0;
      subtract(n - i - 1, x[i] / A[i * n + i], A + i * n + i + 1, x + i + 1);
    }
    for (int64_t i = end; i < n; i++) { /* none but after four rows */
      double c[4];
      for (int k = 0; k < 4; k++) c[k] = A[(first + k) * n + i] / A[(first + k) * n + first + k];
      subtract_four(n - i, c, A + first * n + i, n, A + i * n + i);
    }
  }
  for (int64_t i = n; i-- > 0;)
    x[i] = (x[i] - product(n - i - 1, A + i * n + i + 1, x + i + 1)) / A[i * n + i];
  return 1;
}

/* The group whose sum a variable keeps: 0 for all of them, or with a width 1 for negative signs. */
static inline int group_of(const struct machine *m, int64_t i) {
  return m->side != 0.0 && m->signs[i] < 0.0;
}

/* Move v to the minimum over its free variables, or to the first bound on the way, and its gradient
 * g with it. Where the sum over a group is kept its last free variable k makes up for the others:
 *
 *     H_ij = K_ij - K_ik' - K_kj + K_kk',   H z = g_k - g_i,   z_k = -sum z_i,   k, k' those of i, j
 *
 * Shapes: v, g, lower, upper (N,), free (N,), work (most (most + 1),). Returns the number of free
 * variables, 0 where no step was made (none, or one that goes nowhere), -1 where they are more than
 * `most`. */
static int64_t newton_step(const struct machine *m, const double *lower, const double *upper,
                           double ridge, int64_t most, double *v, double *g, int64_t *free,
                           double *work) {
  int64_t n_free = 0, n = 0, last[2] = {-1, -1};
  for (int64_t i = 0; i < m->size; i++)
    if (v[i] > lower[i] && v[i] < upper[i]) {
      if (n_free == most) return -1;
      free[n_free++] = i;
      if (m->is_free) last[group_of(m, i)] = i;
    }
  for (int64_t a = 0; a < n_free; a++) /* the last ones behind all others */
    if (free[a] != last[0] && free[a] != last[1]) free[n++] = free[a];
  if (n < 1) return 0;
  n_free = n;
  const double *rows[2] = {NULL, NULL};
  double *z = work, *H = work + most, largest = 0.0, length = 1.0, total[2] = {0.0, 0.0};
  double own[2][2] = {{0.0, 0.0}, {0.0, 0.0}};
  for (int k = 0; k < 2; k++)
    if (last[k] >= 0) {
      free[n_free++] = last[k];
      rows[k] = kernel_row_of(m, last[k]);
      for (int l = 0; l <= k; l++)
        if (last[l] >= 0) own[k][l] = own[l][k] = kernel_entry(m, rows[k], last[l]);
      own[k][k] += m->curved ? m->curved[last[k]] : 0.0;
    }
  for (int64_t a = 0; a < n; a++) {
    int64_t i = free[a];
    const double *row = kernel_row_of(m, i);
    int of_i = group_of(m, i);
    for (int64_t b = 0; b <= a; b++) {
      int64_t j = free[b];
      double entry = kernel_entry(m, row, j);
      if (m->is_free) {
        int of_j = group_of(m, j);
        entry = (entry - kernel_entry(m, rows[of_j], i)) -
                (kernel_entry(m, rows[of_i], j) - own[of_i][of_j]);
      } else
        entry += m->constant;
      H[a * n + b] = entry;
    }
    if (m->curved) H[a * n + a] += m->curved[i];
    largest = larger(largest, H[a * n + a]);
    z[a] = (m->is_free ? g[last[of_i]] : 0.0) - g[i];
  }
  for (int64_t a = 0; a < n; a++) H[a * n + a] += ridge * largest;
  if (!solve(n, H, z)) return 0;
  for (int64_t a = 0; a < n; a++) total[group_of(m, free[a])] += z[a];
  for (int64_t a = n; a < n_free; a++) z[a] = -total[group_of(m, free[a])];
  for (int64_t a = 0; a < n_free; a++) {
    int64_t i = free[a];
    double room = z[a] > 0.0 ? upper[i] - v[i] : lower[i] - v[i];
    if (z[a] != 0.0 && !(room / z[a] >= length)) length = room / z[a];
  }
  if (!(length > 0.0)) return 0;
  for (int64_t a = 0; a < n_free; a++) {
    int64_t i = free[a];
    double after = smaller(larger(v[i] + length * z[a], lower[i]), upper[i]), step = after - v[i];
    const double *row = kernel_row_of(m, i);
    if (after - after != 0.0) return 0;
    v[i] = after;
    if (m->rows)
      for (int64_t j = 0; j < m->size; j++) g[j] += step * (row[m->rows[j]] + m->constant);
    else
      for (int64_t j = 0; j < m->size; j++) g[j] += step * (row[j] + m->constant);
    if (m->curved) g[i] += step * m->curved[i];
  }
  return n_free;
}

/* g = (K + c 11' + diag(d)) v - s p, with v whose first variables of each group are at a bound until
 * they add up to what the machine asks for, as in LIBSVM; zero where that does. */
static void begin(const struct machine *m, const double *lower, const double *upper, double *v,
                  double *g) {
  double missing[2] = {m->cost, 0.0};
  if (m->side != 0.0) {
    missing[0] = 0.5 * (m->total + m->cost);
    missing[1] = -0.5 * (m->total - m->cost);
  }
  for (int64_t i = 0; i < m->size; i++) g[i] = -m->signs[i] * m->required[i];
  for (int64_t i = 0; i < m->size; i++) {
    double *left = missing + group_of(m, i);
    v[i] = m->is_free ? smaller(larger(*left, lower[i]), upper[i]) : 0.0;
    *left -= v[i];
    if (v[i] == 0.0) continue;
    const double *row = kernel_row_of(m, i);
    for (int64_t j = 0; j < m->size; j++) g[j] += v[i] * kernel_entry(m, row, j);
    if (m->curved) g[i] += v[i] * m->curved[i];
  }
}

/* Minimise 1/2 v'(K + c 11' + diag(d)) v - (s p)'v over the box, signs'a = cost where the intercept
 * is free, 1'a = total where there is a width, by runs of steps of pairs and Newton steps in turn, to
 * a violation of tol.
 *
 * numbers (6,) = rough, the violation with which the first run ends; ridge; first and between, steps
 * of pairs, at most, for every variable in the first run and for every free one in the others;
 * turns; work, steps of pairs, at most, in all runs times N. v, g (N,) are a start and its gradient, where has_start, and the result; alpha (N,) is
 * s v; all three are results (3 N,). whole (3 N + 1,) and real (9 N + most (most + 1),) are memory,
 * and the last of whole is how many steps were made. Returns the status of the last run: DONE, or
 * LIMIT after so many turns, so much work, or where free variables are more than `most`. */
PUBLIC int EXPORTED(machine_run)(const struct machine *m, double tol, const double *numbers,
                                 int64_t most, int64_t has_start, double *results, int64_t *whole,
                                 double *real) {
  int64_t n = m->size, *free = whole, *steps = whole + 3 * n;
  double *v = results, *g = v + n, *alpha = g + n, *box = real, *work = real + 9 * n;
  int64_t at_most = (int64_t)(numbers[2] * (double)n), now;
  double *lower = box, *upper = box + n, violation, until = larger(numbers[0], tol);
  struct kernel_block block = {n,    m->rows ? 0 : m->stride, m->K,     NULL,
                               m->rows, m->constant,             m->pieces};
  int8_t *group = (int8_t *)(free + 2 * n);
  int status = LIMIT, n_groups = !m->is_free ? 0 : m->side != 0.0 ? 2 : 1;
  for (int64_t i = 0; i < n; i++) {
    double s = m->signs[i];
    lower[i] = s > 0.0 ? m->lower[i] : -m->upper[i];
    upper[i] = s > 0.0 ? m->upper[i] : -m->lower[i];
    group[i] = (int8_t)group_of(m, i);
  }
  *steps = 0;
  if (!has_start) begin(m, lower, upper, v, g);
  int64_t *offsets = free + n; /* where the rows of conditions begin */
  if (m->rows) {
    for (int64_t i = 0; i < n; i++) offsets[i] = m->rows[i] * m->stride;
    block.offsets = offsets;
  }
  for (int64_t turn = 0; turn < (int64_t)numbers[4]; turn++) {
    double left = numbers[5] / (double)n - (double)*steps;
    if (!(left >= 1.0)) break;
    if ((double)at_most > left) at_most = (int64_t)left;
    status = EXPORTED(pairs_run)(&block, m->curved, lower, upper, group, n_groups, until, at_most,
                                 v, g, box + 2 * n, &violation, &now);
    *steps += now;
    if (status != LIMIT && (status != DONE || until <= tol)) break;
    until = tol;
    int64_t moved = newton_step(m, lower, upper, numbers[1], most, v, g, free, work);
    if (moved < 0) {
      status = LIMIT;
      break;
    }
    at_most = moved ? (int64_t)(numbers[3] * (double)moved) : (int64_t)(numbers[2] * (double)n);
  }
  for (int64_t i = 0; i < n; i++) alpha[i] = m->signs[i] * v[i] + 0.0; /* no negative zeros */
  return status;
}

/* The middle of an interval, or its only finite end. */
static inline double middle_of(const double *ends) {
  if (ends[0] == -INFINITE || ends[1] == INFINITE) return ends[0] == -INFINITE ? ends[1] : ends[0];
  return ends[0] + 0.5 * (ends[1] - ends[0]);
}

/* The best intercepts (2,) and side t of a machine with a width t. Conditions of either sign see one
 * unknown each, b + side t and b - side t; where one of these may go to infinity, b and t grow
 * together, and one b is taken. */
static double best_width(struct conditions *c, const struct machine *m, double flat, int64_t *open,
                         double *ends) {
  double above[2], below[2];
  c->only = 1.0;
  int first = EXPORTED(optimal_intercepts)(c, 0.5 * (m->cost + m->total), flat, open, above);
  c->only = -1.0;
  int second = EXPORTED(optimal_intercepts)(c, 0.5 * (m->cost - m->total), flat, open, below);
  c->only = 0.0;
  if (first != DONE || second != DONE) return 0.0;
  double shift = 0.5 * (middle_of(above) - middle_of(below));
  for (int k = 0; k < 2; k++) ends[k] = 0.5 * (above[k] + below[k]);
  if (ends[0] == -INFINITE || ends[1] == INFINITE)
    ends[0] = ends[1] = 0.5 * (middle_of(above) + middle_of(below));
  return shift;
}

/* What the slopes of losses with kinks only add up to by rounding, at most, at a best intercept. */
static double flat_slopes(const struct machine *m) {
  double ends = 0.0;
  if (!m->is_free || m->curved) return 0.0;
  for (int64_t i = 0; i < m->size; i++) ends += larger(size_of(m->lower[i]), m->upper[i]);
  return ends < INFINITE ? (double)m->size * DBL_EPSILON * (ends + size_of(m->cost) + m->total) : 0.0;
}

/* Decision values of the machine of dual variables alpha, its best intercept, and bounds.
 *
 * results (3 n + SUMS + d,) = beta (n,), values (n,), errors (n,), sums (SUMS,), X'beta (d,). The error of
 * the value f_i is at most errors_i = (relative_i + gamma_n) (|K| (u |beta|))_i + left_i right'|beta| where K is
 * given; for samples X (n, d) that of the product with w as it is stored, gamma_d (|X| |w|)_i, with the
 * same additions. There w = X'beta, or the given weights (d, and the intercept where c > 0; NULL: none).
 * bounds (4, n) = relative, u >= 1, left and right. sums: the seven of condition_bounds, then
 *
 *     7, 8   the ends of the interval of best intercepts; for a penalised intercept, or none,
 *            c sum beta or the given one, twice
 *     9      right'|beta|                  10  the best width
 *     11     sum a, exact but for one rounding
 *     12     beta'f                        13  sum |beta_i| (errors_i + n u |f_i|)
 *     14     the largest of the errors     15  sum |a|
 *     16     the first sum without errors
 *
 * open (N,) is memory. NOT_FINITE where values overflow. */
PUBLIC int EXPORTED(machine_bounds)(const struct machine *m, const double *X, int64_t d,
                                    const double *given, const double *bounds,
                                    const double *alpha, double unit, int64_t *open,
                                    double *results) {
  int64_t n = m->samples, used = 0;
  const double *relative = bounds, *columns = bounds + n, *left = columns + n, *right = left + n;
  double *beta = results, *values = beta + n, *errors = values + n, *sums = errors + n;
  double *implied = sums + SUMS;
  const double *w = given ? given : implied;
  double total = 0.0, reach = 0.0, weight = 0.0;
  for (int64_t j = 0; j < n; j++) beta[j] = values[j] = errors[j] = 0.0;
  for (int64_t i = 0; i < m->size; i++) beta[m->rows ? m->rows[i] : i] += m->signs[i] * alpha[i];
  for (int64_t j = 0; j < n; j++) {
    total += beta[j];
    reach += right[j] * size_of(beta[j]);
    weight += size_of(beta[j]);
    used += beta[j] != 0.0;
  }
  if (X) {
    for (int64_t k = 0; k < d; k++) implied[k] = 0.0;
    for (int64_t j = 0; j < n; j++)
      if (beta[j] != 0.0)
        for (int64_t k = 0; k < d; k++) implied[k] += beta[j] * X[j * d + k];
    for (int64_t j = 0; j < n; j++) {
      double size = 0.0;
      values[j] = product(d, X + j * d, w);
      for (int64_t k = 0; k < d; k++) size += size_of(X[j * d + k] * w[k]);
      errors[j] = size;
    }
  } else
    for (int64_t j = 0; j < n; j++) {
      double own = beta[j], size = size_of(own) * columns[j];
      if (own == 0.0) continue;
      const double *row = sample_row(m, j);
      for (int64_t i = 0; i < n; i++) {
        values[i] += own * row[i];
        errors[i] += size * size_of(row[i]);
      }
    }
  /* one product and the additions of its accumulator, and of the eight to each other */
  double lost = (double)((X ? d / 8 + 8 : used) + 4) * (0.5 * DBL_EPSILON);
  for (int64_t i = 0; i < n; i++) {
    errors[i] = 1.000001 * ((relative[i] + lost) * errors[i] + left[i] * reach);
    errors[i] += DBL_MIN * (1.0 + weight);
    double sum = values[i] + errors[i];
    if (sum - sum != 0.0) return NOT_FINITE;
  }
  struct conditions c = {m->size,  m->rows,  m->signs,  m->required, values,
                         m->lower, m->upper, m->curved, 0.0};
  double shift = 0.0, flat = flat_slopes(m);
  sums[7] = sums[8] = given && m->constant > 0.0 ? given[d] : m->constant * total;
  if (m->is_free && m->side != 0.0) shift = best_width(&c, m, flat, open, sums + 7);
  if (m->is_free && !(m->side * shift > 0.0)) {
    shift = 0.0;
    if (EXPORTED(optimal_intercepts)(&c, m->cost, flat, open, sums + 7) == NOT_FINITE)
      return NOT_FINITE;
  }
  double b = middle_of(sums + 7);
  sums[9] = reach;
  sums[10] = m->side * shift + 0.0; /* no negative zero */
  if (b - b != 0.0) return NOT_FINITE;
  double plain = condition_bounds(&c, errors, alpha, b, shift, unit, sums);
  struct pair all = {0.0, 0.0};
  for (int k = 12; k < SUMS; k++) sums[k] = 0.0;
  sums[16] = plain;
  for (int64_t i = 0; i < m->size; i++) {
    add(&all, alpha[i]);
    sums[15] += size_of(alpha[i]);
  }
  sums[11] = rounded(all);
  sums[12] = product(n, beta, values);
  for (int64_t j = 0; j < n; j++) {
    sums[13] += size_of(beta[j]) * (errors[j] + (double)n * DBL_EPSILON * size_of(values[j]));
    sums[14] = larger(errors[j], sums[14]);
  }
  return DONE;
}
