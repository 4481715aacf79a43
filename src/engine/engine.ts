// What the engine works with: the store, the provider, the operations it knows, its limits, and the
// time and chance that are given to it.
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { ClaimOperation } from '../db/operations/batch-claims.ts'
import type { Store } from '../db/connection/client.ts'
import type { PaymentProvider } from '../provider/payment-provider.ts'
import type { Operation } from './define-operation.ts'
import type { Shutdown } from './shutdown.ts'
import type { EngineObserver } from './observer.ts'

/** Time as the engine sees it. Leases run on the database's clock; this one only bounds waiting. */
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

export type EngineSettings = Pick<
  Config,
  | 'LEASE_MS'
  | 'PROVIDER_TIMEOUT_MS'
  | 'PROVIDER_KEY_WINDOW_SECONDS'
  | 'CALL_ATTEMPTS'
  | 'CALL_RETRY_DELAY_MS'
  | 'JOB_RETRY_LIMIT'
  | 'KEY_RETENTION_SECONDS'
  | 'CHECK_DELAYS_SECONDS'
  | 'CHECK_ON_READ_SECONDS'
  | 'PROVIDER_SETTLE_SECONDS'
  | 'IDEMPOTENCY_FLAVOR'
>

export interface Engine {
  readonly operations: Operations
  readonly store: Store
  /** Takes an operation that nobody works on. */
  readonly claim: ClaimOperation
  readonly provider: PaymentProvider
  readonly settings: EngineSettings
  readonly clock: Clock
  /** A number from 0 up to 1, for jitter. */
  readonly random: () => number
  /** Tells whoever waits that nobody works on the operation any more. */
  readonly announceIdle: (operationId: string) => void
  readonly observe: EngineObserver
  readonly log: Logger
  /** How long a process that is told to stop goes on; without it runs go on as far as they come. */
  readonly shutdown?: Shutdown
}

/** Every operation that the engine can run. Wiring hands it over: the engine knows none by itself. */
export type Operations = readonly Operation[]

/**
 * The operation of that name.
 *
 * @throws Error when there is none: a row of a newer version, whose lease another worker will take.
 */
export function operationNamed(
  { operations }: { readonly operations: Operations },
  name: string,
): Operation {
  const operation = operations.find((candidate) => candidate.name === name)
  if (operation === undefined) throw new Error(`no operation is named ${name}`)
  return operation
}
