// Runs the whole service for a test file, with its own database.
import { randomUUID } from 'node:crypto'
import type { Store } from '../../src/db/connection/client.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import { createTestDatabase } from './database.ts'
import { startProcess } from './processes.ts'
import {
  startApi,
  startServiceParts,
  startWorker,
  type ServiceParts,
  type ServicePlace,
  type Settings,
} from './service-parts.ts'
import type { ServiceProcess } from './start-script.ts'
import { openTestStore } from '../db/reservations.ts'

export interface Tenant {
  readonly id: string
  readonly apiKey: string
}

export interface ExecutedCall {
  readonly seq: number
  readonly kind: string
  readonly id: string
  readonly amount: number
  readonly currency: string
  readonly idempotency_key: string | null
  readonly metadata: Record<string, string>
}

export interface Service {
  readonly databaseUrl: string
  readonly store: Store
  readonly apiUrl: string
  readonly providerUrl: string
  /** Creates a tenant, so that tests in one file do not see each other's payments. */
  createTenant(): Promise<Tenant>
  startApi(settings?: Settings): Promise<{ url: string; process: ServiceProcess }>
  startWorker(settings?: Settings): Promise<ServiceProcess>
  /** Returns the entries of the stand-in's executed log for the payment. */
  executedFor(payment: { id: string }): Promise<ExecutedCall[]>
  /** Makes the stand-in send its events to the API from now on, according to the knobs. */
  sendEvents(knobs?: Record<string, unknown>): Promise<void>
  /** Sends a request to a control route of the stand-in. */
  control(method: string, path: string, body?: unknown): Promise<unknown>
  /** Stops what the test file started. */
  stop(): Promise<void>
}

/** A service that no other test file uses, so that its processes may be killed. */
export type OwnService = Service & Pick<ServiceParts, 'api' | 'worker' | 'provider'>

/** @param databaseUrl a migrated database, which the caller removes; by default a new one. */
export async function startService(
  settings: Settings = {},
  databaseUrl?: string,
): Promise<OwnService> {
  const database =
    databaseUrl === undefined
      ? await createTestDatabase()
      : { url: databaseUrl, drop: () => Promise.resolve() }
  const parts = await startServiceParts(startProcess, {
    databaseUrl: database.url,
    settings,
  })
  const { api, worker, provider } = parts
  const service = connectService(parts)
  return {
    ...service,
    api,
    worker,
    provider,
    async stop() {
      await service.stop()
      for (const process of [worker, api]) await kill(process)
      await Promise.all([provider.close(), database.drop()])
    },
  }
}

/** Uses a service that runs. */
export function connectService({
  databaseUrl,
  apiUrl,
  providerUrl,
  settings,
}: ServicePlace): Service {
  const store = openTestStore(databaseUrl)
  const processes: ServiceProcess[] = []
  const start: typeof startProcess = (...options) => {
    const process = startProcess(...options)
    processes.push(process)
    return process
  }
  const control = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    const request =
      body === undefined ? { method } : { method, headers, body: JSON.stringify(body) }
    const response = await fetch(`${providerUrl}/_control/${path}`, request)
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return await response.json()
  }
  return {
    databaseUrl,
    store,
    apiUrl,
    providerUrl,
    startApi: (own) => startApi(start, { ...settings, ...own }),
    startWorker: (own) => startWorker(start, { ...settings, ...own }),
    control,
    async sendEvents(knobs = {}) {
      await control('POST', 'webhooks', { url: `${apiUrl}/provider/webhooks`, ...knobs })
    },
    async createTenant() {
      const apiKey = `sk_test_${randomUUID().replaceAll('-', '')}`
      return { apiKey, id: await createTenant(store, { name: 'test', apiKey }) }
    },
    async executedFor(payment) {
      const { data } = (await control('GET', 'executed')) as { data: ExecutedCall[] }
      return data.filter((call) => call.metadata['atomic_payment'] === payment.id)
    },
    async stop() {
      await store.close()
      for (const process of processes.toReversed()) await kill(process)
    },
  }
}

async function kill(process: ServiceProcess): Promise<void> {
  process.kill('SIGKILL')
  await process.exited
}
