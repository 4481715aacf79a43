// The whole service on free ports: the API and the worker as processes, the Stripe stand-in in this one.
import { pino } from 'pino'
import { createStripeStandIn, type StripeStandIn } from '../../dev/stripe-stand-in/app.ts'
import type { ScriptOptions, ServiceProcess } from './start-script.ts'

/** Short enough for a test that waits for a lease to expire, long enough for a busy machine. */
const TEST_SETTINGS = {
  PROVIDER_TIMEOUT_MS: '1000',
  LEASE_MS: '2000',
  CALL_RETRY_DELAY_MS: '20',
  WAIT_SECONDS: '20',
  JOB_RETRY_DELAY_SECONDS: '1',
}

const WEBHOOK_SECRET = 'whsec_test'

export type Settings = Record<string, string>

/** Where the service runs, and the settings that its API and worker share. */
export interface ServicePlace {
  readonly databaseUrl: string
  readonly apiUrl: string
  readonly providerUrl: string
  readonly settings: Settings
}

export interface ServiceParts extends ServicePlace {
  readonly api: ServiceProcess
  readonly worker: ServiceProcess
  /** Its lines are its log. */
  readonly provider: StripeStandIn & { readonly lines: readonly string[] }
}

type Start = (script: string, options: ScriptOptions) => ServiceProcess

interface PartsOptions {
  /** Migrated. */
  readonly databaseUrl: string
  readonly settings: Settings
}

/** Starts all parts and waits until they are ready. */
export async function startServiceParts(
  start: Start,
  { databaseUrl, settings }: PartsOptions,
): Promise<ServiceParts> {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line) => lines.push(line) })
  const options = { path: ':memory:', webhookSecret: WEBHOOK_SECRET, logger }
  const standIn = createStripeStandIn(options)
  let closing: Promise<void> | undefined
  // A test may close it before the end.
  const provider = { ...standIn, lines, close: () => (closing ??= standIn.close()) }
  const port = await provider.listen({ host: '127.0.0.1', port: 0 })
  const providerUrl = `http://127.0.0.1:${port}`
  const shared = {
    DATABASE_URL: databaseUrl,
    STRIPE_SECRET_KEY: 'sk_test_mock',
    STRIPE_API_BASE: providerUrl,
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PORT: '0',
    ...settings,
  }
  const [{ url: apiUrl, process: api }, worker] = await Promise.all([
    startApi(start, shared),
    startWorker(start, shared),
  ])
  return { databaseUrl, apiUrl, providerUrl, settings: shared, api, worker, provider }
}

export async function startApi(
  start: Start,
  settings: Settings,
): Promise<{ url: string; process: ServiceProcess }> {
  const process = await startPart(start, 'src/start/api.ts', settings)
  return { url: await listeningUrl(process), process }
}

export async function startWorker(start: Start, settings: Settings): Promise<ServiceProcess> {
  return await startPart(start, 'workers/main.ts', settings)
}

async function startPart(start: Start, script: string, settings: Settings) {
  const process = start(script, { env: { ...TEST_SETTINGS, ...settings } })
  await process.waitUntilReady()
  return process
}

/** Reads the port from the log of a process that listens. */
export async function listeningUrl(process: ServiceProcess): Promise<string> {
  const line = await process.waitForLine((candidate) => candidate.includes('"port":'))
  return `http://127.0.0.1:${/"port":(\d+)/.exec(line)?.[1] ?? ''}`
}
