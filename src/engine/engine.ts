// The dependencies of the engine: the store, the providers, the operations, the settings, the clock
// and the source of randomness.
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { ClaimOperation } from '../db/operations/leases.ts'
import type { RecordPhase } from '../db/operations/record-phases.ts'
import type { Counts } from '../domain/tenants/tenant-counts.ts'
import type { Store } from '../db/connection/client.ts'
import type { Providers } from '../provider/providers.ts'
import type { Operation } from './define-operation.ts'
import type { EngineObserver } from './observer.ts'

export type EngineSettings = Pick<
  Config,
  | 'LEASE_MS'
  | 'PROVIDER_TIMEOUT_MS'
  | 'PROVIDER_KEY_WINDOW_SECONDS'
  | 'CALL_ATTEMPTS'
  | 'CALL_RETRY_DELAY_MS'
  | 'JOB_RETRY_LIMIT'
  | 'PROVIDER_OUTAGE_SECONDS'
  | 'KEY_RETENTION_SECONDS'
  | 'KEY_RETENTION_SECONDS_BY_OPERATION'
  | 'CHECK_DELAYS_SECONDS'
  | 'CHECK_ON_READ_SECONDS'
  | 'PROVIDER_SETTLE_SECONDS'
  | 'ACTION_EXPIRES_SECONDS'
  | 'IDEMPOTENCY_FLAVOR'
>

export interface Engine {
  readonly operations: Operations
  readonly store: Store
  /** Counts the operations that this process runs: their phases may share statements. */
  readonly running: Counts
  /** Claims an operation that no worker owns. */
  readonly claim: ClaimOperation
  /** Records a phase of an operation that this worker owns. */
  readonly record: RecordPhase
  readonly providers: Providers
  readonly settings: EngineSettings
  readonly clock: Clock
  /** A number from 0 up to 1, for jitter. */
  readonly random: () => number
  /** Notifies waiting requests that no worker is working on the operation any more. */
  readonly announceIdle: (operationId: string) => void
  readonly observe: EngineObserver
  readonly log: Logger
  /**
   * Limits how long runs continue after the process was told to stop. Without it they run to the
   * end.
   */
  readonly shutdown?: Shutdown
}

/**
 * Every operation that the engine can run. Passed in by the wiring; the engine itself knows none.
 */
export type Operations = readonly Operation[]

/**
 * Returns the operation with this name.
 *
 * @throws Error when there is none: a newer version wrote the row, and a worker of that version
 *   will claim it.
 */
export function operationNamed(
  { operations }: { readonly operations: Operations },
  name: string,
): Operation {
  const operation = operations.find((candidate) => candidate.name === name)
  if (operation === undefined) throw new Error(`no operation is named ${name}`)
  return operation
}

/** `CALL_RETRY_DELAY_MS`, doubled with each try, minus up to a random half, in milliseconds. */
export function backoff({ settings, random }: Engine, triesMade: number): number {
  return settings.CALL_RETRY_DELAY_MS * 2 ** (triesMade - 1) * (1 - random() / 2)
}

/** The clock of the engine. Leases use the database's clock; this one only limits waiting. */
export interface Clock {
  now(): Date
  /** Milliseconds that never go back. */
  monotonicMs(): number
  sleep(ms: number): Promise<void>
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}

// The shutdown of a worker, as seen by its runs. Runs get a grace period to end their phase. A run
// that does not end in time is handed over, so another worker continues at once, without waiting
// for the lease.

export interface Shutdown {
  /** Aborted when the remaining runs must be handed over. */
  readonly due: AbortSignal
  /** Milliseconds until `due`; undefined while the process is not stopping. */
  leftMs(): number | undefined
}

/** The share of a shutdown that is reserved for handing over and closing. */
const CLOSING_SHARE = 0.25
const CLOSING_MAX_MS = 2_000

/** @param timeoutMs after which the process exits, counted from `begin`. */
export function createShutdown(
  clock: Pick<Clock, 'monotonicMs'>,
  timeoutMs: number,
): Shutdown & { begin(): void } {
  const due = new AbortController()
  const graceMs = timeoutMs - Math.min(CLOSING_MAX_MS, timeoutMs * CLOSING_SHARE)
  let dueAtMs: number | undefined
  return {
    due: due.signal,
    leftMs: () => (dueAtMs === undefined ? undefined : dueAtMs - clock.monotonicMs()),
    begin() {
      dueAtMs ??= clock.monotonicMs() + graceMs
      setTimeout(() => due.abort(), graceMs).unref()
    },
  }
}

/** The result of the work, or undefined when it has not ended when `due` is aborted. */
export async function beforeDue<Value>(
  shutdown: Pick<Shutdown, 'due'> | undefined,
  work: Promise<Value>,
): Promise<Value | undefined> {
  if (shutdown === undefined) return await work
  const { due } = shutdown
  const interrupted = Promise.withResolvers<undefined>()
  const end = () => interrupted.resolve(undefined)
  due.addEventListener('abort', end, { once: true })
  if (due.aborted) end()
  try {
    return await Promise.race([work, interrupted.promise])
  } finally {
    due.removeEventListener('abort', end)
  }
}
