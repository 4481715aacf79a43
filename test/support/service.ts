// Runs the whole service for a test, with its own database: the Stripe stand-in, the API and the
// worker are real processes on free ports.
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore, type Store } from '../../src/db/connection/client.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import { createTestDatabase } from './database.ts'
import { startProcess, type ServiceProcess } from './processes.ts'

/** Short enough for a test that waits for a lease to expire, long enough for a busy machine. */
const TEST_SETTINGS = {
  PROVIDER_TIMEOUT_MS: '1000',
  LEASE_MS: '2000',
  CALL_RETRY_DELAY_MS: '20',
  WAIT_SECONDS: '20',
  JOB_RETRY_DELAY_SECONDS: '1',
}

const WEBHOOK_SECRET = 'whsec_test'

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
  readonly api: ServiceProcess
  readonly worker: ServiceProcess
  readonly provider: ServiceProcess
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
  stop(): Promise<void>
}

type Settings = Record<string, string>

/** @param databaseUrl a migrated database, which the caller removes; by default a new one. */
export async function startService(
  settings: Settings = {},
  databaseUrl?: string,
): Promise<Service> {
  const database =
    databaseUrl === undefined
      ? await createTestDatabase()
      : { url: databaseUrl, drop: () => Promise.resolve() }
  const dataDir = await mkdtemp(join(tmpdir(), 'atomic-payments-test-'))
  const processes: ServiceProcess[] = []
  const run = async (script: string, env: Settings) => {
    const process = startProcess(script, { env: { ...TEST_SETTINGS, ...env } })
    processes.push(process)
    await process.waitUntilReady()
    return process
  }

  const provider = await run('dev/stripe-stand-in/main.ts', {
    MOCK_PROVIDER_PORT: '0',
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    DATA_DIR: dataDir,
  })
  const providerUrl = await listeningUrl(provider)
  const shared = {
    DATABASE_URL: database.url,
    STRIPE_SECRET_KEY: 'sk_test_mock',
    STRIPE_API_BASE: providerUrl,
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PORT: '0',
    ...settings,
  }
  const startApi = async (own: Settings = {}) => {
    const process = await run('src/start/api.ts', { ...shared, ...own })
    return { url: await listeningUrl(process), process }
  }
  const startWorker = (own: Settings = {}) => run('workers/main.ts', { ...shared, ...own })
  const [api, worker] = await Promise.all([startApi(), startWorker()])
  const store = openStore({
    url: database.url,
    applicationName: 'test',
    poolSize: 4,
    timeoutMs: 10_000,
  })
  const control = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    const request =
      body === undefined ? { method } : { method, headers, body: JSON.stringify(body) }
    const response = await fetch(`${providerUrl}/_control/${path}`, request)
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return await response.json()
  }
  return {
    databaseUrl: database.url,
    store,
    apiUrl: api.url,
    providerUrl,
    api: api.process,
    worker,
    provider,
    startApi,
    startWorker,
    control,
    async sendEvents(knobs = {}) {
      await control('POST', 'webhooks', { url: `${api.url}/provider/webhooks`, ...knobs })
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
      for (const process of processes.toReversed()) {
        process.kill('SIGKILL')
        await process.exited
      }
      await database.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Reads the port from the log of a process that listens. */
async function listeningUrl(process: ServiceProcess): Promise<string> {
  const line = await process.waitForLine((candidate) => candidate.includes('"port":'))
  return `http://127.0.0.1:${/"port":(\d+)/.exec(line)?.[1] ?? ''}`
}
