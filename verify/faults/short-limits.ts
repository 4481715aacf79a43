// The settings of API and worker in a lane.

/** Leases are so short that the work of a killed worker is taken over within a second or so. */
export const SHORT_LIMITS = {
  PROVIDER_TIMEOUT_MS: '400',
  LEASE_MS: '800',
  SWEEP_INTERVAL_MS: '700',
  CHECK_INTERVAL_MS: '700',
  CHECK_DELAYS_SECONDS: '0.5,1,2,3,4,6,8,10,15,20',
  CHECK_ON_READ_SECONDS: '0.5',
  PROVIDER_SETTLE_SECONDS: '1',
  CALL_RETRY_DELAY_MS: '20',
  PROVIDER_READS_PER_SECOND: '0',
  REAP_INTERVAL_MS: '800',
  DRAIN_DELAY_MS: '100',
  JOB_RETRY_DELAY_MAX_SECONDS: '2',
  BREAKER_OPEN_MS: '200',
  STORE_TIMEOUT_MS: '2000',
  // Each job slot polls for itself, and polling is most of what an idle process does.
  WORKER_CONCURRENCY: '2',
  WEBHOOK_CONCURRENCY: '1',
  // One connection may be stalled for good, and another one has to serve.
  DATABASE_POOL_SIZE: '3',
  API_KEY_CACHE_SECONDS: '0',
  // The counters of a limit are written beside the operations, at times of their own.
  RATE_LIMIT_WRITES: '0',
  RATE_LIMIT_READS: '0',
  RATE_LIMIT_INVALID_KEYS: '0',
  MAX_ACTIVE_KEYS: '0',
  MAX_STORED_KEYS: '0',
  LOG_LEVEL: 'info',
  METRICS_PORT: '0',
  OTEL_SDK_DISABLED: 'true',
}
