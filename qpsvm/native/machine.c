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
  int64_t is_free;                                /* whether signs'a = 0 */
  double constant;                                /* what a penalised intercept adds to K */
};

static inline double size_of(double x) { return x < 0.0 ? -x : x; }

static inline const double *kernel_row_of(const struct machine *m, int64_t i) {
  return m->K + (m->rows ? m->rows[i] : i) * m->stride;
}

static inline double kernel_entry(const struct machine *m, const double *row, int64_t j) {
  return row[m->rows ? m->rows[j] : j];
}

/* x'y over n entries, in eight accumulators. */
static inline double product(int64_t n, const double *x, const double *y) {
  double sum[8] = {0.0}, rest = 0.0;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++) sum[k] += x[i + k] * y[i + k];
  for (; i < n; i++) rest += x[i] * y[i];
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
}

/* Solve A z = x for a symmetric positive definite matrix whose lower triangle is given, in place of
 * both (A = L D L', by rows). Returns 0 where a pivot is not positive. */
static int solve(int64_t n, double *A, double *x) {
  for (int64_t i = 0; i < n; i++) {
    double *row = A + i * n, pivot = row[i];
    for (int64_t j = 0; j < i; j++) row[j] -= product(j, row, A + j * n);
    for (int64_t j = 0; j < i; j++) {
      double entry = row[j] / A[j * n + j];
      pivot -= entry * row[j];
      row[j] = entry;
    }
    if (!(pivot > 0.0)) return 0;
    row[i] = pivot;
    x[i] -= product(i, row, x);
  }
  for (int64_t i = 0; i < n; i++) x[i] /= A[i * n + i];
  for (int64_t i = n; i-- > 0;)
    for (int64_t j = 0; j < i; j++) x[j] -= A[i * n + j] * x[i];
  return 1;
}

/* Move v to the minimum over its free variables, or to the first bound on the way, and its gradient
 * g with it. With an equality row the last free variable makes up for the others:
 *
 *     H_ij = K_ij - K_ik - K_kj + K_kk,   H z = g_k - g_i,   z_k = -sum z_i
 *
 * Shapes: v, g, lower, upper (N,), free (N,), work (most (most + 1),). Returns the number of free
 * variables, 0 where no step was made (none, or one that goes nowhere), -1 where they are more than
 * `most`. */
static int64_t newton_step(const struct machine *m, const double *lower, const double *upper,
                           double ridge, int64_t most, double *v, double *g, int64_t *free,
                           double *work) {
  int64_t n_free = 0;
  for (int64_t i = 0; i < m->size; i++)
    if (v[i] > lower[i] && v[i] < upper[i]) {
      if (n_free == most) return -1;
      free[n_free++] = i;
    }
  int64_t n = n_free - (m->is_free ? 1 : 0);
  if (n < 1) return 0;
  int64_t k = free[n_free - 1];
  const double *last = kernel_row_of(m, k);
  double *z = work, *H = work + most, largest = 0.0, length = 1.0, total = 0.0;
  double own = kernel_entry(m, last, k) + (m->curved ? m->curved[k] : 0.0);
  for (int64_t a = 0; a < n; a++) {
    int64_t i = free[a];
    const double *row = kernel_row_of(m, i);
    for (int64_t b = 0; b <= a; b++) {
      int64_t j = free[b];
      double entry = kernel_entry(m, row, j);
      if (m->is_free)
        entry = (entry - kernel_entry(m, last, i)) - (kernel_entry(m, last, j) - own);
      else
        entry += m->constant;
      H[a * n + b] = entry;
    }
    if (m->curved) H[a * n + a] += m->curved[i];
    largest = larger(largest, H[a * n + a]);
    z[a] = (m->is_free ? g[k] : 0.0) - g[i];
  }
  for (int64_t a = 0; a < n; a++) H[a * n + a] += ridge * largest;
  if (!solve(n, H, z)) return 0;
  for (int64_t a = 0; a < n; a++) total += z[a];
  if (m->is_free) z[n] = -total;
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

/* Minimise 1/2 v'(K + c 11' + diag(d)) v - (s p)'v over the box, signs'a = 0 where the intercept is
 * free, by runs of steps of pairs and Newton steps in turn, to a violation of tol.
 *
 * numbers (5,) = rough, the violation with which the first run ends; ridge; first and between, steps
 * of pairs, at most, for every variable in the first run and for every free one in the others;
 * turns. v, g (N,) are a start and its gradient, where has_start, and the result; alpha (N,) is
 * s v. free (N,), box (9 N,) and work (most (most + 1),) are memory. Returns the status of the last
 * run: DONE, or LIMIT after so many turns, or where free variables are more than `most`. */
PUBLIC int EXPORTED(machine_run)(const struct machine *m, double tol, const double *numbers,
                                 int64_t most, int64_t has_start, double *v, double *g,
                                 double *alpha, int64_t *free, double *box, double *work,
                                 int64_t *steps) {
  int64_t n = m->size, at_most = (int64_t)(numbers[2] * (double)n), now;
  double *lower = box, *upper = box + n, violation, until = larger(numbers[0], tol);
  struct kernel_block block = {n, m->rows ? 0 : m->stride, m->K, NULL, m->rows, m->constant};
  int status = LIMIT;
  for (int64_t i = 0; i < n; i++) {
    double s = m->signs[i];
    lower[i] = s > 0.0 ? m->lower[i] : -m->upper[i];
    upper[i] = s > 0.0 ? m->upper[i] : -m->lower[i];
    if (!has_start) {
      v[i] = 0.0;
      g[i] = -s * m->required[i];
    }
  }
  int64_t *offsets = free + n; /* where the rows of conditions begin */
  if (m->rows) {
    for (int64_t i = 0; i < n; i++) offsets[i] = m->rows[i] * m->stride;
    block.offsets = offsets;
  }
  for (int64_t turn = 0; turn < (int64_t)numbers[4]; turn++) {
    status = EXPORTED(pairs_run)(&block, m->curved, lower, upper, NULL, m->is_free, until, at_most,
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

/* Decision values of the machine of dual variables alpha, its best intercept, and bounds.
 *
 * beta (n,), values (n,), errors (n,), w (d,) and sums (10,) are results. The error of the value f_i
 * is at most errors_i = (relative_i + gamma_n) (|K| |beta|)_i + left_i right'|beta| where K is given;
 * for samples X (n, d) that of the product with w = X'beta as it is stored, gamma_d (|X| |w|)_i, with
 * the same additions, relative, left and right (n,). sums: the seven of
 * condition_bounds, then the ends of the interval of best intercepts, and right'|beta|. For a
 * penalised intercept, or none, these are c sum beta. open (N,) is memory. NOT_FINITE where values
 * overflow. */
PUBLIC int EXPORTED(machine_bounds)(const struct machine *m, const double *X, int64_t d,
                                    const double *relative, const double *left,
                                    const double *right, const double *alpha, double flat,
                                    double unit, double *w, int64_t *open, double *beta,
                                    double *values, double *errors, double *sums) {
  int64_t n = m->samples, used = 0;
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
    for (int64_t k = 0; k < d; k++) w[k] = 0.0;
    for (int64_t j = 0; j < n; j++)
      if (beta[j] != 0.0)
        for (int64_t k = 0; k < d; k++) w[k] += beta[j] * X[j * d + k];
    for (int64_t j = 0; j < n; j++) {
      double size = 0.0;
      values[j] = product(d, X + j * d, w);
      for (int64_t k = 0; k < d; k++) size += size_of(X[j * d + k] * w[k]);
      errors[j] = size;
    }
  } else
    for (int64_t j = 0; j < n; j++) {
      const double *row = m->K + j * m->stride;
      double own = beta[j], size = size_of(own);
      if (own == 0.0) continue;
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
  struct conditions c = {m->size, m->rows, m->signs, m->required, values, m->lower, m->upper,
                         m->curved};
  sums[7] = sums[8] = m->constant * total;
  if (m->is_free) {
    int status = EXPORTED(best_intercepts)(&c, 0.0, flat, open, sums + 7);
    if (status == NOT_FINITE) return status;
  }
  double low = sums[7], high = sums[8];
  int is_open = low == -INFINITE || high == INFINITE;
  double b = is_open ? (low == -INFINITE ? high : low) : low + 0.5 * (high - low);
  sums[9] = reach;
  if (b - b != 0.0) return NOT_FINITE;
  condition_bounds(&c, errors, alpha, b, unit, sums);
  return DONE;
}
