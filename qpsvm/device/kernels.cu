/* CUDA source of kernel values and their sums, in double precision.

A thread has one sample x_i, and goes through the others in groups of GROUP, whose features a block
of threads reads once. A squared distance is a sum of squared differences: nothing cancels, whatever
the norms are, and no centre is needed. A sum keeps what every addition and product rounds away
beside it (two-sum; the product's rounding by a fused multiply-add), in explicitly rounded
operations that no compiler may contract.

Sources: Knuth, The Art of Computer Programming 2, section 4.2.2, theorem B; Ogita, Rump and
Oishi, "Accurate sum and dot product", SIAM Journal on Scientific Computing 26 (2005),
algorithm 5.3. */

#ifndef THREADS /* tests compile this for a processor, with blocks of one thread */
#define THREADS 128
#endif
#define GROUP 16    /* samples whose kernel values a thread has in registers at a time */
#define FEATURES 64 /* features of these that are in shared memory at a time */

/* value[t] = k(x_i, z_{first + t}); XT is (d, n), Z is (k, d) */
__device__ __forceinline__ void values(
    const double *XT, const double *Z, long long n, long long k, long long d, long long i,
    long long first, int kind, double gamma, double coef0, int degree,
    double (*shared)[GROUP], double *value) {
  #pragma unroll
  for (int t = 0; t < GROUP; t++) value[t] = 0.0;
  for (long long begin = 0; begin < d; begin += FEATURES) {
    int count = (int)(d - begin < FEATURES ? d - begin : FEATURES);
    __syncthreads();
    for (int at = threadIdx.x; at < count * GROUP; at += THREADS) {
      int t = at / count, f = at % count;
      shared[f][t] = first + t < k ? Z[(first + t) * d + begin + f] : 0.0;
    }
    __syncthreads();
    if (kind == 3) {
      for (int f = 0; f < count; f++) {
        double x = XT[(begin + f) * n + i];
        #pragma unroll
        for (int t = 0; t < GROUP; t++) {
          double step = x - shared[f][t];
          value[t] = fma(step, step, value[t]);
        }
      }
    } else {
      for (int f = 0; f < count; f++) {
        double x = XT[(begin + f) * n + i];
        #pragma unroll
        for (int t = 0; t < GROUP; t++) value[t] = fma(x, shared[f][t], value[t]);
      }
    }
  }
  if (kind == 3) {
    #pragma unroll
    for (int t = 0; t < GROUP; t++) value[t] = exp(-gamma * value[t]);
  } else if (kind == 2) {
    #pragma unroll
    for (int t = 0; t < GROUP; t++) value[t] = tanh(fma(gamma, value[t], coef0));
  } else if (kind == 1) {
    #pragma unroll
    for (int t = 0; t < GROUP; t++) {
      double base = fma(gamma, value[t], coef0), power = base;
      int bit = 31 - __clz(degree);
      while (bit-- > 0) {
        power *= power;
        if ((degree >> bit) & 1) power *= base;
      }
      value[t] = power;
    }
  }
}

/* out[r, i] = k(x_i, z_r) */
extern "C" __global__ void __launch_bounds__(THREADS) kernel_rows(
    const double *XT, const double *Z, long long n, long long k, long long d, int kind,
    double gamma, double coef0, int degree, double *out) {
  __shared__ double shared[FEATURES][GROUP];
  long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
  long long own = i < n ? i : n - 1, first = blockIdx.y * (long long)GROUP;
  double value[GROUP];
  values(XT, Z, n, k, d, own, first, kind, gamma, coef0, degree, shared, value);
  if (i < n) {
    #pragma unroll
    for (int t = 0; t < GROUP; t++)
      if (first + t < k) out[(first + t) * n + i] = value[t];
  }
}

template <int P>
__device__ __forceinline__ void sums(
    const double *XT, const double *Z, const double *V, long long n, long long k, long long d,
    int kind, double gamma, double coef0, int degree, double *out) {
  __shared__ double shared[FEATURES][GROUP];
  __shared__ double weights[GROUP][P];
  long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
  long long own = i < n ? i : n - 1;
  double value[GROUP], high[P], low[P];
  #pragma unroll
  for (int p = 0; p < P; p++) high[p] = low[p] = 0.0;
  for (long long first = 0; first < k; first += GROUP) {
    __syncthreads();
    for (int at = threadIdx.x; at < GROUP * P; at += THREADS)
      weights[at / P][at % P] = first + at / P < k ? V[first * P + at] : 0.0;
    values(XT, Z, n, k, d, own, first, kind, gamma, coef0, degree, shared, value);
    #pragma unroll
    for (int t = 0; t < GROUP; t++) {
      if (first + t >= k) break;
      #pragma unroll
      for (int p = 0; p < P; p++) {
        double w = weights[t][p], product = __dmul_rn(value[t], w);
        double lost = __fma_rn(value[t], w, -product);
        double sum = __dadd_rn(high[p], product), added = __dsub_rn(sum, high[p]);
        double rounded = __dadd_rn(__dsub_rn(high[p], __dsub_rn(sum, added)),
                                   __dsub_rn(product, added));
        high[p] = sum;
        low[p] = __dadd_rn(low[p], __dadd_rn(rounded, lost));
      }
    }
  }
  if (i < n) {
    #pragma unroll
    for (int p = 0; p < P; p++) out[i * P + p] = __dadd_rn(high[p], low[p]);
  }
}

#define SUMS(P)                                                                                \
  extern "C" __global__ void __launch_bounds__(THREADS) kernel_sums_##P(                       \
      const double *XT, const double *Z, const double *V, long long n, long long k,            \
      long long d, int kind, double gamma, double coef0, int degree, double *out) {            \
    sums<P>(XT, Z, V, n, k, d, kind, gamma, coef0, degree, out);                               \
  }
SUMS(1)
SUMS(2)
SUMS(3)
SUMS(4)

/* out[i] = sum over r of weights[r] rows[places[r], i] */
extern "C" __global__ void __launch_bounds__(THREADS) combination(
    const double *rows, const long long *places, const double *weights, long long m, long long n,
    double *out) {
  long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (i >= n) return;
  double sum = 0.0;
  #pragma unroll 8
  for (long long r = 0; r < m; r++) sum = fma(weights[r], rows[places[r] * n + i], sum);
  out[i] = sum;
}
