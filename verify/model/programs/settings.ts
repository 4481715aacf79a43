// The settings that the product runs with in the model: spans of time that are far apart, so that each order of
// what ends first is one of a few.
import type { EngineSettings } from '../../../src/engine/engine.ts'
import type { ReaperSettings } from '../../../src/recovery/reaper.ts'
import type { ApiParts } from '../../../src/http/endpoint.ts'

export const LEASE_SECONDS = 30
export const KEY_WINDOW_SECONDS = 3_600
export const RETENTION_SECONDS = 86_400
export const STATEMENT_TIMEOUT_SECONDS = 10
export const SETTLE_SECONDS = 30

/** What differs from space to space. */
export interface Tries {
  /** Calls of a phase under one lease. */
  readonly calls: number
  /** Claims beyond the first. */
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
  }
  return settings as Settings
}

/**
 * Of the API alone: its own clock has no say, because the model loses connections by itself. No timer may fire
 * while a run waits to be gone on with.
 */
export const API_STORE_TIMEOUT_MS = 2 ** 31 - 1
