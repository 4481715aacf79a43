// Starts the stack that a benchmark measures: PostgreSQL with production settings in a temporary
// folder, the Stripe stand-in, the API and a worker. All of it is removed however the run ends.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { openStore, type Store } from '../src/db/connection/client.ts'
import { migrateDatabase } from '../src/migrations/migrate.ts'
import { JOB_SCHEMA } from '../src/db/queue/jobs.ts'
import { createTenant } from '../src/db/tenants/tenants.ts'
import { ensureDatabase } from '../dev/embedded-postgres/with-store.ts'
import { startNodeProcess, type NodeProcess } from '../dev/stack/node-process.ts'
import { findFreePort } from '../dev/ports.ts'
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../dev/embedded-postgres/postgres.ts'
import {
  makeThrowawayFolder,
  removeThrowawayFolder,
} from '../dev/embedded-postgres/throwaway-folder.ts'

const LOOPBACK = '127.0.0.1'
const STOP_LIMIT_MS = 5_000

/** A single statement can seed or vacuum ten million rows. */
const OWNER_TIMEOUT_MS = 3_600_000

/** Seeded payments are spread over these tenants. The first ones have more than the last ones. */
const TENANTS = 20

/** An interval longer than any run, so that the worker does not reap by itself. */
const NEVER_MS = '3600000'

const REMEMBERED_LINES = 40

export interface BenchTenant {
  readonly id: string
  readonly apiKey: string
}

type Settings = Record<string, string>

/**
 * Limits above the load of a minute: no request is rejected, but the cost of checking the limits
 * remains.
 */
export const UNLIMITED: Settings = {
  RATE_LIMIT_WRITES: '1000000',
  RATE_LIMIT_READS: '1000000',
  MAX_ACTIVE_KEYS: '1000000',
  MAX_STORED_KEYS: '10000000',
  MAX_CONCURRENT_REQUESTS: '10000',
}

/** The processes that complete payments. */
export interface Services {
  readonly apiUrl: string
  readonly providerUrl: string
  readonly provider: NodeProcess
  readonly api: NodeProcess
  readonly worker: NodeProcess
  /** Starts another API, with settings of its own. */
  readonly startApi: (own?: Settings) => Promise<ApiProcess>
  /** Starts another worker. */
  readonly startWorker: () => Promise<NodeProcess>
}

interface ApiProcess {
  readonly url: string
  readonly process: NodeProcess
}

export class BenchStack {
  readonly #folder: string
  readonly #services: NodeProcess[] = []
  readonly #siblings: BenchStack[] = []
  readonly #lastLines: string[]
  #postgres: Promise<EmbeddedPostgres> | undefined
  #owner: Store | undefined
  #databaseUrl = ''
  #removed = false

  private constructor(folder: string, lastLines: string[] = []) {
    this.#folder = folder
    this.#lastLines = lastLines
  }

  /** @param parent the folder in which the stack creates its temporary folder. */
  static async make(parent: string): Promise<BenchStack> {
    return new BenchStack(await makeThrowawayFolder('bench', parent))
  }

  /** The URL of the database, with its owner's login. */
  get databaseUrl(): string {
    return this.#databaseUrl
  }

  /** A connection pool with the owner's login and a timeout for large statements. */
  get owner(): Store {
    if (this.#owner === undefined) throw new Error('the database is not started')
    return this.#owner
  }

  async startDatabase(): Promise<void> {
    const directory = join(this.#folder, 'postgres')
    this.#postgres = startEmbeddedPostgres({ directory, durable: true, log: this.#log })
    await this.#openDatabase('atomic_payments')
  }

  /** Creates another stack with a separate database on the same server. This stack removes it. */
  async createSibling(database: string): Promise<BenchStack> {
    const stack = new BenchStack(this.#folder, this.#lastLines)
    this.#siblings.push(stack)
    stack.#postgres = this.#postgres
    await stack.#openDatabase(database)
    return stack
  }

  async #openDatabase(name: string): Promise<void> {
    this.#databaseUrl = await this.ensureDatabase(name)
    await migrateDatabase(this.#databaseUrl)
    this.#owner = openStore({
      url: this.#databaseUrl,
      applicationName: 'atomic-payments bench',
      poolSize: 4,
      timeoutMs: OWNER_TIMEOUT_MS,
    })
  }

  async createTenants(): Promise<BenchTenant[]> {
    const tenants: BenchTenant[] = []
    for (let number = 1; number <= TENANTS; number += 1) {
      const apiKey = `sk_test_${randomBytes(16).toString('hex')}`
      const id = await createTenant(this.owner, { name: `merchant ${number}`, apiKey })
      tenants.push({ id, apiKey })
    }
    return tenants
  }

  /**
   * @param settings of API and worker, where they differ from the defaults.
   * @param reaping `never` turns off the worker's reaper, so that the benchmark decides when keys
   *   are reaped.
   */
  async startServices(
    settings: Settings = {},
    reaping: 'never' | 'usual' = 'never',
  ): Promise<Services> {
    const providerPort = await findFreePort()
    const providerUrl = `http://${LOOPBACK}:${providerPort}`
    const shared = {
      DATABASE_URL: this.#databaseUrl,
      DATA_DIR: this.#folder,
      HOST: LOOPBACK,
      METRICS_PORT: '0',
      STRIPE_SECRET_KEY: 'sk_test_mock',
      STRIPE_API_BASE: providerUrl,
      STRIPE_WEBHOOK_SECRET: `whsec_${randomBytes(16).toString('hex')}`,
      ENCRYPTION_KEYS: `bench:${randomBytes(32).toString('base64')}`,
      ...settings,
    }
    const provider = await this.start('dev/stripe-stand-in/main.ts', {
      ...shared,
      MOCK_PROVIDER_PORT: String(providerPort),
    })
    const workerSettings =
      reaping === 'usual'
        ? shared
        : { ...shared, TEST_CONSTANTS: 'true', REAP_INTERVAL_MS: NEVER_MS }
    const startWorker = () => this.start('workers/main.ts', workerSettings)
    const worker = await startWorker()
    const startApi = async (own: Settings = {}) => {
      const port = await findFreePort()
      const all = { ...shared, ...own, PORT: String(port) }
      const process = await this.start('src/start/api.ts', all)
      return { url: `http://${LOOPBACK}:${port}`, process }
    }
    const { url: apiUrl, process: api } = await startApi()
    const { sql } = this.owner
    if (reaping === 'never') await sql`delete from ${sql(JOB_SCHEMA)}.schedule where key = 'reap'`
    return { apiUrl, providerUrl, provider, api, worker, startApi, startWorker }
  }

  /** Starts a script as a process that ends with the stack. Waits until it is ready. */
  async start(script: string, settings: Settings): Promise<NodeProcess> {
    if (this.#removed) throw new Error('the stack is being removed')
    const child = startNodeProcess({
      script,
      settings,
      stopLimitMs: STOP_LIMIT_MS,
      log: this.#log,
    })
    this.#services.push(child)
    await child.ready
    return child
  }

  /** The pid of the PostgreSQL server, whose children are its backends. */
  async postgresPid(): Promise<number> {
    return (await this.#server()).pid
  }

  /**
   * Returns the URL of another database on the same server. Creates the database if it is missing.
   */
  async ensureDatabase(name: string): Promise<string> {
    return await ensureDatabase(await this.#server(), name)
  }

  async #server(): Promise<EmbeddedPostgres> {
    if (this.#postgres === undefined) throw new Error('the database is not started')
    return await this.#postgres
  }

  /** Returns the last log lines of all processes, to explain a failure. */
  lastLogLines(): string {
    return this.#lastLines.join('\n')
  }

  /** Kills every process and removes the folder. No data is worth a graceful shutdown. */
  async remove(): Promise<void> {
    const all = [this, ...this.#siblings]
    await Promise.all(all.map((stack) => stack.#end()))
    await this.#postgres?.then((server) => server.stop('immediate')).catch(() => {})
    await Promise.all(all.map(async (stack) => await stack.#owner?.close().catch(() => {})))
    await removeThrowawayFolder(this.#folder)
  }

  async #end(): Promise<void> {
    this.#removed = true
    for (const child of this.#services) child.kill()
    await Promise.all(this.#services.map(({ ended }) => ended))
  }

  readonly #log = (line: string): void => {
    this.#lastLines.push(line)
    if (this.#lastLines.length > REMEMBERED_LINES) this.#lastLines.shift()
  }
}
