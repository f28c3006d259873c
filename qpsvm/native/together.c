/* Several machines on parts of the same samples, solved and certified one after the other: those of
 * pairs of classes, or of one class against the rest.
 */

#include "common.h"

/* Copy X and bounds (4, n) of the samples in two pieces (pairs.c) of n to X_own (size, d) and own (4,
 * size). */
static void take_samples(const struct pieces *p, int64_t size, int64_t n, const double *X, int64_t d,
                         const double *bounds, double *X_own, double *own) {
  for (int64_t i = 0; i < size; i++) {
    int64_t row = row_in_pieces(p, i);
    for (int k = 0; k < 4; k++) own[k * size + i] = bounds[k * n + row];
    if (X) memcpy(X_own + i * d, X + row * d, (size_t)d * sizeof *X);
  }
}

/* Newton's method for one of the machines, whose losses have no kinks: counts (3,) as in newton.c.
 * u (d + 1,) and alpha (size,) are results. */
static int by_newton(const struct machine *m, const double *X, int64_t d, const int64_t *counts,
                     double *u, double *alpha, int8_t *sides, double *work) {
  double numbers[4] = {0.0, 0.0, 0.0, 0.0};
  int64_t own[4] = {counts[0], counts[1], counts[2], 0};
  for (int64_t k = 0; k <= d; k++) u[k] = 0.0;
  for (int64_t i = 0; i < m->size; i++) alpha[i] = smaller(larger(0.0, m->lower[i]), m->upper[i]);
  return EXPORTED(machine_newton)(m, X, d, m->is_free || m->constant > 0.0, numbers, own, u, alpha,
                                  sides, work);
}

/* Solve `count` machines, and bound their gaps.
 *
 * `all` has their conditions, one machine behind the other, and as many samples as K (n, n), X (n, d;
 * NULL: none) and bounds (4, n) have rows; it has no rows of its own. Condition i of machine k is
 * about sample i of its two pieces of these samples: pieces (count, 4), see pairs.c.
 *
 * counts NULL: steps on K, with numbers (count, 9) = tol and the six numbers of machine_run, the unit
 * of machine_bounds, and by how much more than p the steps require. Else K is NULL, the losses have no
 * kinks, and Newton's method on X takes counts (3,); of numbers only the unit counts.
 *
 * statuses (count,), alpha (N,), and of every machine with n_k conditions the 3 n_k + SUMS + d
 * results of machine_bounds and d + 1 weights, of Newton's method, are results. With the largest n_k =
 * m and p = d + 1, whole (5 m + 1,) and real (m (m + d + 17) + most (most + 1) + 2 p (p + 1),) are
 * memory, without m m where K is NULL. Returns DONE; the status of a machine is that of its run, or
 * NOT_FINITE where its values overflow. */
PUBLIC int EXPORTED(machines_solve)(const struct machine *all, int64_t count, const int64_t *pieces,
                                    const double *X, int64_t d, const double *numbers, int64_t most,
                                    const int64_t *counts, const double *bounds, int64_t *statuses,
                                    double *alpha, double *results, int64_t *whole, double *real) {
  struct machine at = *all;
  for (int64_t k = 0; k < count; k++, pieces += 4, numbers += 9) {
    int64_t size = pieces[1] + pieces[3], free = most < size ? most : size;
    double *X_own = real + (counts ? 0 : size * size), *own = X_own + size * d;
    double *run = own + 4 * size, *more = run + 3 * size, *memory = more + size;
    double *u = results + 3 * size + SUMS + d;
    struct machine m = at;
    struct pieces p = {m.K, m.stride, pieces, real, (int8_t *)(whole + 4 * size + 1)};
    take_samples(&p, size, m.samples, X, d, bounds, X_own, own);
    memset(p.is_copied, 0, (size_t)size);
    m.size = m.samples = size;
    m.pieces = &p;
    int status;
    if (counts)
      status = by_newton(&m, X_own, d, counts, u, alpha, p.is_copied, run);
    else {
      for (int64_t i = 0; i < size; i++) more[i] = at.required[i] + numbers[8];
      m.required = more;
      status = EXPORTED(machine_run)(&m, numbers[0], numbers + 1, free, 0, run, whole, memory);
      m.required = at.required;
      memcpy(alpha, run + 2 * size, (size_t)size * sizeof *alpha);
    }
    if (EXPORTED(machine_bounds)(&m, X ? X_own : NULL, d, counts ? u : NULL, own, alpha, numbers[7],
                                 whole + 3 * size + 1, results) != DONE)
      status = NOT_FINITE;
    statuses[k] = status;
    alpha += size;
    results += 3 * size + SUMS + 2 * d + 1;
    at.signs += size;
    at.required += size;
    at.lower += size;
    at.upper += size;
    if (at.curved) at.curved += size;
  }
  return DONE;
}
