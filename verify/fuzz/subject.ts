// The service under test: Stripe stand-in, worker and API, as processes on the caller's database. Their
// log lines are searched for secrets, errors and fields that are not on the log's allow list.
import { randomBytes } from 'node:crypto'
import { openStore } from '../../src/db/connection/client.ts'
import { JOB_SCHEMA } from '../../src/db/queue/jobs.ts'
import type { NodeProcess } from '../../dev/stack/node-process.ts'
import { startListening, startReady } from '../listening-process.ts'
import type { Secrets } from './judge.ts'

export type Role = 'provider' | 'worker' | 'api'

/** Pino's level `error`. */
const ERROR = 50

const KEPT_LINES = 40

/** So many are kept; the rest will be of the same kind. */
const VIOLATIONS_MAX = 20

interface Line {
  readonly level?: number
  readonly msg?: string
  readonly path?: string
  readonly unlisted?: readonly string[]
}

export class ServiceLog {
  /** The forbidden log lines found. */
  readonly violations: string[] = []
  readonly #last: string[] = []
  #secrets: Secrets | undefined
  /** Number of requests to the provider's API, without its control API. */
  providerCalls = 0

  /** The last log lines, to explain the failure of a process. */
  get lastLines(): string {
    return this.#last.join('\n')
  }

  /** Sets the secrets to look for in later lines. */
  setSecrets(secrets: Secrets): void {
    this.#secrets = secrets
  }

  readonly add = (role: Role, text: string): void => {
    this.#last.push(`${role}: ${text}`)
    if (this.#last.length > KEPT_LINES) this.#last.shift()
    for (const secret of this.#secrets?.findIn(text) ?? []) {
      this.#addViolation(`${role} logged ${secret}`)
    }
    const line = parseLine(text)
    if (line === undefined) return
    if (role === 'provider') {
      const { msg, path = '' } = line
      if (msg === 'request' && !path.startsWith('/_control')) this.providerCalls += 1
      return
    }
    if ((line.level ?? 0) >= ERROR) this.#addViolation(`${role} logged an error: ${text}`)
    if (line.unlisted !== undefined) {
      this.#addViolation(`${role} logged fields that are not allowed: ${line.unlisted.join(', ')}`)
    }
  }

  #addViolation(what: string): void {
    if (this.violations.length < VIOLATIONS_MAX && !this.violations.includes(what)) {
      this.violations.push(what)
    }
  }
}

function parseLine(text: string): Line | undefined {
  try {
    return text.startsWith('{') ? (JSON.parse(text) as Line) : undefined
  } catch {
    // Node's own messages are not JSON.
    return undefined
  }
}

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
  HOST: '127.0.0.1',
  PORT: '0',
  METRICS_PORT: '0',
  MOCK_PROVIDER_PORT: '0',
  TEST_CONSTANTS: 'true',
  // Its server has fsync off.
  DATABASE_MAY_LOSE_COMMITS: 'true',
}

export type Subject = Awaited<ReturnType<typeof startSubject>>

/**
 * @param folder for the data of the Stripe stand-in.
 * @param programOf what Node runs for a script: by default the script.
 */
export async function startSubject(
  databaseUrl: string,
  folder: string,
  programOf: (script: string) => string = (script) => script,
) {
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
    STRIPE_SECRET_KEY: secrets.providerKey,
    STRIPE_WEBHOOK_SECRET: secrets.webhookSecret,
    ADMIN_API_KEY: secrets.adminKey,
    ENCRYPTION_KEYS: `fuzz:${randomBytes(32).toString('base64')}`,
  }
  const processes: NodeProcess[] = []
  const argsOf = (role: Role, script: string, providerUrl = '') =>
    [
      programOf(script),
      { ...settings, STRIPE_API_BASE: providerUrl },
      (line: string) => log.add(role, line),
      (process: NodeProcess) => void processes.push(process),
    ] as const
  const end = async (): Promise<void> => {
    for (const part of processes) part.kill()
    await Promise.all(processes.map(({ ended }) => ended))
  }
  try {
    const provider = await startListening(...argsOf('provider', 'dev/stripe-stand-in/main.ts'))
    const { url: providerUrl } = provider
    const [{ url: apiUrl }] = await Promise.all([
      startListening(...argsOf('api', 'src/start/api.ts', providerUrl)),
      startReady(...argsOf('worker', 'workers/main.ts', providerUrl)),
    ])
    const limits = { poolSize: 2, timeoutMs: STORE_TIMEOUT_MS }
    const store = openStore({ url: databaseUrl, applicationName: 'fuzz', ...limits })
    // The hourly reconciliation would call the provider and write to tables.
    await store.sql`delete from ${store.sql(JOB_SCHEMA)}.schedule where key = 'reconcile'`
    const failed = Promise.race(processes.map(({ ended }) => ended)).then((how): never => {
      throw new Error(`a process ${how}. Its last log lines:\n${log.lastLines}`)
    })
    // stop() ends the processes too, and then nothing handles this rejection.
    failed.catch(() => {})
    return {
      apiUrl,
      providerUrl,
      /** The database, with the owner's rights. */
      store,
      log,
      ...secrets,
      /** Rejects if a process ends unexpectedly. */
      failed,
      async stop() {
        await end()
        await store.close()
      },
    }
  } catch (error) {
    await end()
    throw new Error(`the service did not start:\n${log.lastLines}`, { cause: error })
  }
}
