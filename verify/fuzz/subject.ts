// Reads the log lines of the processes. Counts provider calls, and collects forbidden lines:
// secrets, errors and fields that are not on the log's allow list. Keeps only the last lines.
import { EventEmitter, once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { openStore, type Store } from '../../src/db/connection/client.ts'
import { JOB_SCHEMA } from '../../src/db/queue/jobs.ts'
import { type NodeProcess, startNodeProcess } from '../../dev/stack/node-process.ts'
import { migrateDatabase } from '../../src/db/migrations/migrate.ts'
import { ensureDatabase } from '../../dev/embedded-postgres/ensure-database.ts'
import type { EmbeddedPostgres } from '../../dev/embedded-postgres/postgres.ts'
import { startEmbeddedPostgres } from '../../dev/embedded-postgres/postgres.ts'
import {
  makeThrowawayFolder,
  removeThrowawayFolder,
} from '../../dev/embedded-postgres/throwaway-folder.ts'
import type { Secrets } from './judge.ts'

export type Role = 'provider' | 'worker' | 'api'

/** Pino's level `error`. */
const ERROR = 50

const KEPT_LINES = 40

/** So many are port; the rest will be of the same kind. */
const VIOLATIONS_MAX = 20

interface Line {
  readonly level?: number
  readonly msg?: string
  readonly method?: string
  readonly path?: string
  readonly port?: number
  readonly unlisted?: readonly string[]
}

export class ServiceLog {
  /** The forbidden log lines found. */
  readonly violations: string[] = []
  readonly #last: string[] = []
  #secrets: Secrets | undefined
  #lines = 0
  #providerCalls = 0
  readonly #ports = new Map<Role, number>()
  readonly #listening = new EventEmitter()

  get lines(): number {
    return this.#lines
  }

  /** Number of requests to the provider's API, without its control API. */
  get providerCalls(): number {
    return this.#providerCalls
  }

  /** The last log lines, to explain the failure of a process. */
  get lastLines(): string {
    return this.#last.join('\n')
  }

  /** The port of a process, once it has logged it. */
  async portOf(role: Role): Promise<number> {
    const knownPort = this.#ports.get(role)
    if (knownPort !== undefined) return knownPort
    const [port] = (await once(this.#listening, role)) as [number]
    return port
  }

  /** Sets the secrets to look for in later lines. */
  setSecrets(secrets: Secrets): void {
    this.#secrets = secrets
  }

  readonly add = (role: Role, text: string): void => {
    this.#lines += 1
    this.#last.push(`${role}: ${text}`)
    if (this.#last.length > KEPT_LINES) this.#last.shift()
    for (const secret of this.#secrets?.findIn(text) ?? []) {
      this.#addViolation(`${role} logged ${secret}`)
    }
    const line = parseLine(text)
    if (line === undefined) return
    if (line.port !== undefined && !this.#ports.has(role)) {
      this.#ports.set(role, line.port)
      this.#listening.emit(role, line.port)
    }
    if (role === 'provider') {
      const { msg, path = '' } = line
      if (msg === 'request' && !path.startsWith('/_control')) this.#providerCalls += 1
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

export class Environment {
  readonly #folder: string
  #postgres: Promise<EmbeddedPostgres> | undefined
  #subject: Promise<Subject> | undefined

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async make(): Promise<Environment> {
    return new Environment(await makeThrowawayFolder('fuzz'))
  }

  async start(): Promise<Subject> {
    const directory = join(this.#folder, 'postgres')
    // The data need not survive a power failure, so PostgreSQL need not sync.
    this.#postgres = startEmbeddedPostgres({ directory, durable: false, log: () => {} })
    const url = await ensureDatabase(await this.#postgres, 'fuzz')
    await migrateDatabase(url)
    this.#subject = startSubject(url, this.#folder)
    return await this.#subject
  }

  /** Stops and removes everything, including parts that are still starting. */
  async remove(): Promise<void> {
    await this.#subject?.then((subject) => subject.stop()).catch(() => {})
    await this.#postgres?.then((server) => server.stop('immediate')).catch(() => {})
    await removeThrowawayFolder(this.#folder)
  }
}
