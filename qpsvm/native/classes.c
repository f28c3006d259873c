/* The dual of the machine with one decision function per class, on its whole kernel matrix.
 *
 *     minimise  1/2 sum_m tau_m'(K + c 11')tau_m - sum_i tau_{i,y_i}
 *     subject to  sum_m tau_im = 0,   tau_im <= C_i [m = y_i]
 *
 * A step minimises over the variables of one sample, exactly: with the gradient g_i and the curvature
 * a = K_ii + c the minimiser is the point of the sample's feasible set nearest to tau_i - g_i / a. The
 * sample whose variables gain most to first order is next.
 *
 * Source: Crammer and Singer, "On the algorithmic implementation of multiclass kernel-based vector
 * machines", JMLR 2 (2001), sections 5 and 6; Keerthi et al., "A sequential dual method for large
 * scale multi-class linear SVMs", KDD 2008, section 3.
 */

#include "common.h"

/* max_m g_m - min over {m: tau_m < upper_m} of g_m, for the k variables of one sample of class own:
 * what moving a unit between two of them gains. */
static double class_violation(int64_t k, int64_t own, double upper, const double *tau,
                              const double *g) {
  double most = -INFINITE, least = INFINITE;
  for (int64_t m = 0; m < k; m++) {
    most = larger(most, g[m]);
    if (tau[m] < (m == own ? upper : 0.0)) least = smaller(least, g[m]);
  }
  double found = most - least;
  return found > 0.0 ? found : 0.0;
}

/* Minimise over the variables of one sample; step (k,) is what they change by. Distances below the
 * bounds, room_m = upper_m - tau_m + g_m / a less a common theta, are clipped at zero, and theta is
 * such that they add up to C_i: the projection on a simplex. sorted (k,) is memory. */
static void class_step(int64_t k, int64_t own, double upper, double a, double *tau,
                       const double *g, double *sorted, double *step) {
  double sum = 0.0, theta = 0.0, left = 0.0;
  for (int64_t m = 0; m < k; m++) {
    double room = (m == own ? upper : 0.0) - (tau[m] - g[m] / a);
    int64_t at = m;
    for (; at > 0 && sorted[at - 1] < room; at--) sorted[at] = sorted[at - 1];
    sorted[at] = room;
    step[m] = room;
  }
  for (int64_t m = 0; m < k; m++) { /* descending: the first ones stay above zero */
    sum += sorted[m];
    double own_theta = (sum - upper) / (double)(m + 1);
    if (!(sorted[m] > own_theta)) break;
    theta = own_theta;
  }
  for (int64_t m = 0; m < k; m++) {
    double after = (m == own ? upper : 0.0) - larger(step[m] - theta, 0.0);
    step[m] = after; /* its value for now */
    left += after;
  }
  /* what rounding leaves of the sum goes to the variable farthest below its bound */
  int64_t farthest = 0;
  for (int64_t m = 1; m < k; m++)
    if ((m == own ? upper : 0.0) - step[m] > (farthest == own ? upper : 0.0) - step[farthest])
      farthest = m;
  step[farthest] = smaller(step[farthest] - left, farthest == own ? upper : 0.0);
  for (int64_t m = 0; m < k; m++) {
    double after = step[m];
    step[m] = after - tau[m];
    tau[m] = after;
  }
}

/* Minimise from tau by steps of samples until no pair of variables of a sample gains more than tol.
 *
 * Shapes: K (n, n) with rows `stride` apart, codes (n,) the classes y, upper (n,) C > 0, tau and its
 * gradient g (n, k), violations (n,), work (2 k,) memory. DONE; LIMIT after max_steps; STALLED where a
 * step changes nothing; NOT_FINITE. violation and steps are results. */
PUBLIC int EXPORTED(classes_run)(int64_t n, int64_t k, const double *K, int64_t stride,
                                 double constant, const int64_t *codes, const double *upper,
                                 double tol, int64_t max_steps, double *tau, double *g,
                                 double *violations, double *work, double *violation,
                                 int64_t *steps) {
  double *step = work, *sorted = work + k;
  *steps = 0;
  for (int64_t i = 0; i < n * k; i++)
    if (g[i] - g[i] != 0.0) return NOT_FINITE;
  for (int64_t i = 0; i < n; i++)
    violations[i] = class_violation(k, codes[i], upper[i], tau + i * k, g + i * k);
  for (;;) {
    int64_t i = 0;
    for (int64_t j = 1; j < n; j++)
      if (violations[j] > violations[i]) i = j;
    *violation = n ? violations[i] : 0.0;
    if (!(*violation > tol)) return DONE;
    if (*steps >= max_steps) return LIMIT;
    const double *row = K + i * stride;
    double a = larger(row[i] + constant, DBL_MIN);
    class_step(k, codes[i], upper[i], a, tau + i * k, g + i * k, sorted, step);
    int moves = 0, is_odd = a - a != 0.0;
    for (int64_t m = 0; m < k; m++) moves |= step[m] != 0.0;
    if (!moves) return STALLED;
    for (int64_t j = 0; j < n; j++) {
      double entry = row[j] + constant, *own = g + j * k;
      for (int64_t m = 0; m < k; m++) {
        own[m] += entry * step[m];
        is_odd |= own[m] - own[m] != 0.0;
      }
      violations[j] = class_violation(k, codes[j], upper[j], tau + j * k, own);
    }
    if (is_odd) return NOT_FINITE;
    ++*steps;
  }
}
