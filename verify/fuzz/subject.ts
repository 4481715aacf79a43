// Starts the service under test: Stripe stand-in, worker and API, as processes on the caller's
// database. The rate limits are so high that no run reaches them.
import { randomBytes } from 'node:crypto'
import { openStore, type Store } from '../../src/db/connection/client.ts'
import { JOB_SCHEMA } from '../../src/db/queue/jobs.ts'
import { startNodeProcess, type NodeProcess } from '../../dev/stack/node-process.ts'
import { ServiceLog, type Role } from './service-log.ts'

const LOOPBACK = '127.0.0.1'
const STOP_LIMIT_MS = 5_000
const STORE_TIMEOUT_MS = 30_000

const SETTINGS = {
  // Rate limits have separate tests. Here they would hide all other answers.
  RATE_LIMIT_WRITES: '1000000',
  RATE_LIMIT_READS: '1000000',
  RATE_LIMIT_INVALID_KEYS: '1000000',
  MAX_ACTIVE_KEYS: '1000000',
  MAX_STORED_KEYS: '10000000',
  WAIT_SECONDS: '2',
  WAIT_MAX_SECONDS: '30',
  // Also checks the lines that are logged only at this level.
  LOG_LEVEL: 'trace',
}

export interface Subject {
  readonly apiUrl: string
  readonly providerUrl: string
  /** The database, with the owner's rights. */
  readonly store: Store
  readonly log: ServiceLog
  readonly adminKey: string
  readonly webhookSecret: string
  readonly providerKey: string
  /** Rejects if a process ends unexpectedly. */
  readonly failed: Promise<never>
  stop(): Promise<void>
}

/**
 * @param folder for the data of the Stripe stand-in.
 * @param programOf what Node runs for a script: by default the script.
 */
export async function startSubject(
  databaseUrl: string,
  folder: string,
  programOf: (script: string) => string = (script) => script,
): Promise<Subject> {
  const secrets = {
    adminKey: `adm_${randomBytes(20).toString('hex')}`,
    webhookSecret: `whsec_${randomBytes(20).toString('hex')}`,
    providerKey: `sk_test_${randomBytes(20).toString('hex')}`,
  }
  const log = new ServiceLog()
  const settings = {
    ...SETTINGS,
    DATABASE_URL: databaseUrl,
    DATA_DIR: folder,
    HOST: LOOPBACK,
    PORT: '0',
    METRICS_PORT: '0',
    MOCK_PROVIDER_PORT: '0',
    STRIPE_SECRET_KEY: secrets.providerKey,
    STRIPE_WEBHOOK_SECRET: secrets.webhookSecret,
    ADMIN_API_KEY: secrets.adminKey,
    ENCRYPTION_KEYS: `fuzz:${randomBytes(32).toString('base64')}`,
  }
  const processes: NodeProcess[] = []
  const start = async (role: Role, script: string, providerUrl = ''): Promise<void> => {
    const part = startNodeProcess({
      script: programOf(script),
      settings: {
        ...settings,
        STRIPE_API_BASE: providerUrl,
        TEST_CONSTANTS: 'true',
        // Its server has fsync off.
        DATABASE_MAY_LOSE_COMMITS: 'true',
      },
      stopLimitMs: STOP_LIMIT_MS,
      log: (line) => log.add(role, line),
    })
    processes.push(part)
    await part.ready
  }
  const urlOf = async (role: Role) => `http://${LOOPBACK}:${await log.portOf(role)}`
  const end = async (): Promise<void> => {
    for (const part of processes) part.kill()
    await Promise.all(processes.map(({ ended }) => ended))
  }
  try {
    await start('provider', 'dev/stripe-stand-in/main.ts')
    const providerUrl = await urlOf('provider')
    await Promise.all([
      start('worker', 'workers/main.ts', providerUrl),
      start('api', 'src/start/api.ts', providerUrl),
    ])
  } catch (error) {
    await end()
    throw new Error(`the service did not start:\n${log.lastLines}`, { cause: error })
  }
  const store = openStore({
    url: databaseUrl,
    applicationName: 'fuzz',
    poolSize: 2,
    timeoutMs: STORE_TIMEOUT_MS,
  })
  // The hourly reconciliation would call the provider and write to tables.
  await store.sql`delete from ${store.sql(JOB_SCHEMA)}.schedule where key = 'reconcile'`
  const failed = untilOneEnds(processes, log)
  // stop() ends the processes too, and then nothing handles this rejection.
  failed.catch(() => {})
  return {
    apiUrl: await urlOf('api'),
    providerUrl: await urlOf('provider'),
    store,
    log,
    ...secrets,
    failed,
    async stop() {
      await end()
      await store.close()
    },
  }
}

async function untilOneEnds(processes: readonly NodeProcess[], log: ServiceLog): Promise<never> {
  const how = await Promise.race(processes.map(({ ended }) => ended))
  throw new Error(`a process ${how}. Its last log lines:\n${log.lastLines}`)
}
