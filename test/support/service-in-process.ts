// Runs the whole service inside the test process, for tests that send very many requests: the app
// over HTTP, the engine, a real database under the service's role, and the Stripe stand-in over
// HTTP. Only pg-boss is missing: the wake-up after each commit runs the waiting operations.
import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import pino from 'pino'
import { readConfig } from '../../src/config.ts'
import type { Store } from '../../src/db/connection/client.ts'
import { isStoreUnavailable } from '../../src/db/connection/store-errors.ts'
import { createTenant, setTenantFees } from '../../src/db/tenants/tenants.ts'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import type { FeeSchedule } from '../../src/domain/ledger/ledger.ts'
import type { ServerTimeouts } from '../../src/http/limits/api-server.ts'
import type { ApiParts, ProviderParts } from '../../src/http/endpoint.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { wireApi, wireEngine, wireWorkerBase } from '../../src/wiring.ts'
import { startProvider, type RunningProvider } from '../dev/stripe-stand-in/running-provider.ts'
import { createTestDatabase } from './database.ts'
import { ENCRYPTION_KEYS } from './encryption.ts'
import { serveApi } from './served-api.ts'
import type { Tenant } from './service.ts'
import { openTestStore } from '../db/reservations.ts'

export interface ServiceInProcess {
  readonly apiUrl: string
  readonly databaseUrl: string
  readonly server: Server
  readonly parts: ApiParts
  /** Connects as the owner of the database. */
  readonly store: Store
  readonly provider: RunningProvider
  /** The calls about a payment that the provider executed. */
  executedFor(payment: { readonly id?: unknown }): ReturnType<RunningProvider['executed']>
  /** Without fees by default. */
  createTenant(fees?: FeeSchedule): Promise<Tenant>
  /** While it works, what is accepted begins at once. */
  readonly worker: { pause(): void; resume(): void }
  /** Stops everything. Throws the error of a background run that failed. */
  stop(): Promise<void>
}

export async function startServiceInProcess(
  settings: Record<string, string> = {},
  timeouts?: ServerTimeouts,
  own: Partial<ProviderParts> = {},
): Promise<ServiceInProcess> {
  const database = await createTestDatabase()
  const provider = await startProvider()
  const config = readConfig({
    DATABASE_URL: database.url,
    STRIPE_SECRET_KEY: 'sk_test_mock',
    STRIPE_API_BASE: provider.url,
    CALL_RETRY_DELAY_MS: '1',
    WAIT_SECONDS: '20',
    DATABASE_POOL_SIZE: '6',
    ENCRYPTION_KEYS,
    ...settings,
  })

  const log = pino({ level: 'silent' })
  const engine = await wireEngine(config, wireWorkerBase(config, log))
  const store = openTestStore(database.url, 2)

  const worker = workerOf(engine, store)
  const wired = await wireApi(config, log)
  const parts = {
    ...wired,
    wake: { ...wired.wake, workers: worker.wake },
    providers: { ...wired.providers, ...own },
  }
  const served = await serveApi(parts, timeouts)
  return {
    apiUrl: served.url,
    databaseUrl: database.url,
    server: served.server,
    parts,
    store,
    provider,
    worker,
    async executedFor({ id }) {
      const calls = await provider.executed()
      return calls.filter(({ metadata }) => metadata['atomic_payment'] === id)
    },
    async createTenant(fees = { basisPoints: 0, fixedMinor: 0 }) {
      const apiKey = `sk_test_${randomUUID().replaceAll('-', '')}`
      const id = await createTenant(store, { name: 'test', apiKey })
      await setTenantFees(store.sql, id, fees)
      return { id, apiKey }
    },
    async stop() {
      await worker.idle()
      await served.stop()
      await Promise.all([engine.store.close(), store.close()])
      await provider.close()
      await database.drop()
    },
  }
}

/** Runs, at each wake-up, all operations that wait for a worker, concurrently. */
function workerOf(engine: Engine, { sql }: Store) {
  const runs = new Set<Promise<void>>()
  let isPaused = false
  const runWaiting = async () => {
    const waiting = await sql<{ tenant_id: string; id: string }[]>`
      select tenant_id, id from idempotency_keys where status = 'pending'
    `
    const results = await Promise.all(
      waiting.map(({ tenant_id: tenantId, id }) => runJob({ tenantId, id })),
    )
    if (results.includes('retry')) await runWaiting()
  }
  /** A job that fails because of the store, by a deadlock for example, is tried again. */
  const runJob = async (ref: OperationRef) => {
    try {
      return await runOperation(engine, ref)
    } catch (error) {
      if (isStoreUnavailable(error)) return 'retry'
      throw error
    }
  }
  const wake = () => void (isPaused || runs.add(runWaiting()))
  return {
    wake,
    pause: () => void (isPaused = true),
    resume() {
      isPaused = false
      wake()
    },
    idle: () => Promise.all(runs),
  }
}
