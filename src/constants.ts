// What no operator has to choose: each value with its reason. The settings that one may choose are in
// `config.ts`. Tests and the fault suite change these by environment variables of the same names, beside
// TEST_CONSTANTS=true.

const DAY_SECONDS = 24 * 60 * 60

export const CONSTANTS = {
  // Calls of the provider

  /** An hour less than Stripe keeps keys, for differences of clocks and for long calls. 0: keeps none. */
  PROVIDER_KEY_WINDOW_SECONDS: DAY_SECONDS - 3_600,
  /** A lease outlasts a call and its record: `readConfig` makes it two of the longest calls, at least. */
  LEASE_MS: 20_000,
  /** In one run, with the same provider key: most failures are over in a second. */
  CALL_ATTEMPTS: 3,
  /** Doubles with each try, and is randomized. */
  CALL_RETRY_DELAY_MS: 200,
  /** With the delays below, about five minutes. Then a client's retry or a lookup goes on. */
  JOB_RETRY_LIMIT: 10,
  JOB_RETRY_DELAY_SECONDS: 1,
  JOB_RETRY_DELAY_MAX_SECONDS: 60,
  /**
   * A call that was sent is executed by then, unless the provider declares longer: absence is
   * proved later.
   */
  PROVIDER_SETTLE_SECONDS: 90,
  /** So many calls in a row fail only when the provider is away. 0: no circuit. */
  PROVIDER_BREAKER_FAILURES: 20,
  /** The same for the store, whose failures are rarer. */
  STORE_BREAKER_FAILURES: 10,
  /** One request tests whether the store or the provider works again: soon, because it is only one. */
  BREAKER_OPEN_MS: 1_000,
  /** A name server that takes longer is down; the call is not made. */
  DNS_TIMEOUT_MS: 2_000,

  // Recovery

  /** Each time probes an index that contains unfinished operations only. */
  SWEEP_INTERVAL_MS: 5_000,
  CHECK_INTERVAL_MS: 1_000,
  /** Soon, because most answers were only lost; after a day, when every late event has arrived. */
  CHECK_DELAYS_SECONDS: [5, 90, 600, 3_600, DAY_SECONDS] as readonly number[],
  /** A client that polls an unknown payment asks the provider no more often than this. */
  CHECK_ON_READ_SECONDS: 10,
  /** The day in which a merchant can still capture. */
  AUTHORIZATION_NOTICE_SECONDS: DAY_SECONDS,

  // What is kept

  REAP_INTERVAL_MS: 10_000,
  /** Keys per statement: its locks are held for milliseconds. */
  REAP_BATCH_SIZE: 250,
  /** A key that was deleted is recognised for a year. */
  TOMBSTONE_RETENTION_SECONDS: 365 * DAY_SECONDS,
  /** Stripe may send an event again for 30 days. 0: for ever. */
  INBOX_RETENTION_DAYS: 90,

  // Requests

  /** Proxies cut a silent request after 60 s. */
  WAIT_MAX_SECONDS: 30,
  /** Beyond it a new connection is closed. A proxy in front closes those of slow clients sooner. */
  MAX_CONNECTIONS: 10_000,
  /** They wait for results, and hold no connection to the database. */
  MAX_WAITING_REQUESTS: 5_000,
  /** Per address and window, so that guesses cost the database no lookups. 0: no limit. */
  RATE_LIMIT_INVALID_KEYS: 60,
  RATE_LIMIT_WINDOW_SECONDS: 60,
  /** If the notification of a revoked key is lost, the key works for this long. */
  API_KEY_CACHE_SECONDS: 5,
  /** A Redis that takes longer costs more than the database that it is to save. */
  REDIS_TIMEOUT_MS: 50,

  // Webhooks

  /** A receiver answers first and works afterwards: a slow one holds a place of others. */
  WEBHOOK_TIMEOUT_MS: 10_000,
  /** Five days without a success. */
  WEBHOOK_DISABLE_AFTER_SECONDS: 5 * DAY_SECONDS,

  // Operators

  /** OWASP: 15 to 30 minutes for applications of low risk; a session of the console ends after 12 hours. */
  CONSOLE_IDLE_SECONDS: 1_800,
}

export type Constants = Readonly<typeof CONSTANTS>
type Value = Constants[keyof Constants]

/** The constants, with those that the environment of a test changes. */
export function readConstants(environment: NodeJS.ProcessEnv): Constants {
  const changed = Object.entries(CONSTANTS)
    .filter(([name]) => (environment[name] ?? '') !== '')
    .map(([name, value]) => [name, readValue(environment[name] ?? '', value)])
  return { ...CONSTANTS, ...Object.fromEntries(changed) }
}

function readValue(text: string, constant: Value): Value {
  return typeof constant === 'number' ? Number(text) : text.split(',').map(Number)
}
