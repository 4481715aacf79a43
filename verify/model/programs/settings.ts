// Settings of the product in the model. The durations differ by orders of magnitude, so there are
// few possible orders in which they elapse.
import type { BatchLimits } from '../../../src/db/connection/batches.ts'
import type { EngineSettings } from '../../../src/engine/engine.ts'
import type { ReaperSettings } from '../../../src/recovery/reaper.ts'
import type { ApiParts } from '../../../src/http/endpoint.ts'

export const LEASE_SECONDS = 30
export const KEY_WINDOW_SECONDS = 3_600
export const RETENTION_SECONDS = 86_400
const STATEMENT_TIMEOUT_SECONDS = 10
export const SETTLE_SECONDS = 30

/** Settings that differ between spaces. */
export interface Tries {
  /** Calls per phase under one lease. */
  readonly calls: number
  /** Claims after the first one. */
  readonly retries: number
}

export type Settings = EngineSettings & ReaperSettings & ApiParts['settings']

export function settingsFor({ calls, retries }: Tries, checks: readonly number[]): Settings {
  const settings: Partial<Settings> = {
    LEASE_MS: LEASE_SECONDS * 1_000,
    PROVIDER_TIMEOUT_MS: 1_000,
    PROVIDER_KEY_WINDOW_SECONDS: KEY_WINDOW_SECONDS,
    CALL_ATTEMPTS: calls,
    CALL_RETRY_DELAY_MS: 1,
    JOB_RETRY_LIMIT: retries,
    // The time of an outage changes when an operation gives up, not what happens then.
    PROVIDER_OUTAGE_SECONDS: 0,
    KEY_RETENTION_SECONDS: RETENTION_SECONDS,
    CHECK_DELAYS_SECONDS: [...checks],
    CHECK_ON_READ_SECONDS: 10,
    PROVIDER_SETTLE_SECONDS: SETTLE_SECONDS,
    IDEMPOTENCY_FLAVOR: 'ietf',
    REAP_BATCH_SIZE: 100,
    TOMBSTONE_RETENTION_SECONDS: 1_000_000,
    STORE_TIMEOUT_MS: STATEMENT_TIMEOUT_SECONDS * 1_000,
    WAIT_SECONDS: 0,
    WAIT_MAX_SECONDS: 0,
    EXPIRED_KEYS: 'new',
    CARD_NUMBER_CHECK: 'everywhere',
    KEY_LENGTH_MIN: 1,
    SWEEP_INTERVAL_MS: 10_000,
    BREAKER_OPEN_MS: 1_000,
  }
  return settings as Settings
}

/** No timer may fire while a run waits for an answer: it would depend on the machine's speed. */
const NEVER_MS = 2 ** 31 - 1

/** For the API only. The model injects lost connections itself. */
export const API_STORE_TIMEOUT_MS = NEVER_MS

/** A batch waits for the one before it, however long that takes. */
export const BATCH_LIMITS: BatchLimits = { size: 64, holdBackMs: NEVER_MS }
