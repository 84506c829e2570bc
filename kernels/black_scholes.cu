// The normal distribution's integral, by Abramowitz and Stegun's 26.2.17.
template <typename T> __device__ T normal(T d) {
  T k = T(1) / (T(1) + T(0.2316419) * fabs(d));
  T poly = k * (T(0.31938153) + k * (T(-0.356563782) + k * (T(1.781477937) + k * (T(-1.821255978) + k * T(1.330274429)))));
  T tail = T(0.3989422804014327) * exp(T(-0.5) * d * d) * poly;
  return d > 0 ? T(1) - tail : tail;
}

template <typename T>
__device__ void price(T spot, T strike, T years, T rate, T volatility, T *call, T *put) {
  T root = sqrt(years);
  T d1 = (log(spot / strike) + (rate + T(0.5) * volatility * volatility) * years) / (volatility * root);
  T d2 = d1 - volatility * root;
  T n1 = normal(d1), n2 = normal(d2), discounted = strike * exp(-rate * years);
  *call = spot * n1 - discounted * n2;
  *put = discounted * (T(1) - n2) - spot * (T(1) - n1);
}

extern "C" __global__ void black_scholes(int n, float rate, float volatility, const float *spot, const float *strike,
                                         const float *years, float *call, float *put) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) price(spot[i], strike[i], years[i], rate, volatility, &call[i], &put[i]);
}

extern "C" __global__ void black_scholes_double(int n, double rate, double volatility, const double *spot,
                                                const double *strike, const double *years, double *call, double *put) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) price(spot[i], strike[i], years[i], rate, volatility, &call[i], &put[i]);
}
