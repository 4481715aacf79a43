// The stack that is measured, and nobody else's: PostgreSQL with production settings in a temporary folder,
// then mock provider, API and worker as processes of their own. However the run ends, nothing is left.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { openStore, type Store } from '../src/db/connection/client.ts'
import { migrateDatabase } from '../src/db/migrations/migrate.ts'
import { JOB_SCHEMA } from '../src/db/queue/queues.ts'
import { createTenant } from '../src/db/tenants/tenants.ts'
import { ensureDatabase } from '../dev/embedded-postgres/ensure-database.ts'
import { startNodeProcess, type NodeProcess } from '../dev/stack/node-process.ts'
import { findFreePort } from '../dev/ports.ts'
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../dev/embedded-postgres/postgres.ts'
import {
  makeThrowawayFolder,
  removeThrowawayFolder,
} from '../dev/embedded-postgres/throwaway-folder.ts'

const LOOPBACK = '127.0.0.1'
const STOP_LIMIT_MS = 5_000

/** Seeding and vacuuming ten million rows is one statement here and there. */
const OWNER_TIMEOUT_MS = 3_600_000

/** Among so many merchants, of whom the first ones have more than the last ones. */
const TENANTS = 20

/** So many milliseconds that the worker does not reap by itself: when keys are reaped is what is varied. */
const NEVER = '3600000'

const REMEMBERED_LINES = 40

export interface BenchTenant {
  readonly id: string
  readonly apiKey: string
}

type Settings = Record<string, string>

/** More than the load of a minute: what is limited is not what is measured. The limits count all the same. */
export const UNLIMITED: Settings = {
  RATE_LIMIT_WRITES: '1000000',
  RATE_LIMIT_READS: '1000000',
  MAX_ACTIVE_KEYS: '1000000',
}

/** What makes payments succeed. */
export interface Services {
  readonly apiUrl: string
  readonly providerUrl: string
  readonly api: NodeProcess
  readonly worker: NodeProcess
  /** Starts one worker more. */
  readonly startWorker: () => Promise<NodeProcess>
}

export class BenchStack {
  readonly #folder: string
  readonly #services: NodeProcess[] = []
  readonly #beside: BenchStack[] = []
  readonly #lastLines: string[]
  #postgres: Promise<EmbeddedPostgres> | undefined
  #owner: Store | undefined
  #databaseUrl = ''
  #removed = false

  private constructor(folder: string, lastLines: string[] = []) {
    this.#folder = folder
    this.#lastLines = lastLines
  }

  /** @param parent the folder that the stack makes its own one in. */
  static async make(parent: string): Promise<BenchStack> {
    return new BenchStack(await makeThrowawayFolder('bench', parent))
  }

  /** Of the database, as its owner. */
  get databaseUrl(): string {
    return this.#databaseUrl
  }

  /** The database as its owner sees it, with time for large statements. */
  get owner(): Store {
    if (this.#owner === undefined) throw new Error('the database is not started')
    return this.#owner
  }

  async startDatabase(): Promise<void> {
    const directory = join(this.#folder, 'postgres')
    this.#postgres = startEmbeddedPostgres({ directory, durable: true, log: this.#log })
    await this.#openDatabase('atomic_payments')
  }

  /** Another stack, with a database of its own on the same server. It goes with this one. */
  async beside(database: string): Promise<BenchStack> {
    const stack = new BenchStack(this.#folder, this.#lastLines)
    this.#beside.push(stack)
    stack.#postgres = this.#postgres
    await stack.#openDatabase(database)
    return stack
  }

  async #openDatabase(name: string): Promise<void> {
    this.#databaseUrl = await this.otherDatabase(name)
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
   * @param settings those that differ from the usual ones, of API and worker.
   * @param reaping whether the worker forgets keys by itself, or whoever measures decides when.
   */
  async startServices(
    settings: Settings = {},
    reaping: 'never' | 'usual' = 'never',
  ): Promise<Services> {
    const [providerPort, port] = [await findFreePort(), await findFreePort()]
    const providerUrl = `http://${LOOPBACK}:${providerPort}`
    const shared = {
      DATABASE_URL: this.#databaseUrl,
      DATA_DIR: this.#folder,
      HOST: LOOPBACK,
      METRICS_PORT: '0',
      STRIPE_SECRET_KEY: 'sk_test_mock',
      STRIPE_API_BASE: providerUrl,
      STRIPE_WEBHOOK_SECRET: `whsec_${randomBytes(16).toString('hex')}`,
      ...settings,
    }
    await this.start('dev/stripe-stand-in/main.ts', {
      ...shared,
      MOCK_PROVIDER_PORT: String(providerPort),
    })
    const ofWorker = reaping === 'usual' ? shared : { ...shared, REAP_INTERVAL_MS: NEVER }
    const startWorker = () => this.start('workers/main.ts', ofWorker)
    const worker = await startWorker()
    const api = await this.start('src/start/api.ts', { ...shared, PORT: String(port) })
    const { sql } = this.owner
    if (reaping === 'never') await sql`delete from ${sql(JOB_SCHEMA)}.schedule where key = 'reap'`
    return { apiUrl: `http://${LOOPBACK}:${port}`, providerUrl, api, worker, startWorker }
  }

  /** Starts a script as a process that ends with the stack, and waits until it works. */
  async start(script: string, settings: Settings): Promise<NodeProcess> {
    if (this.#removed) throw new Error('the stack is being removed')
    const part = startNodeProcess({
      script,
      settings,
      stopLimitMs: STOP_LIMIT_MS,
      log: this.#log,
    })
    this.#services.push(part)
    await part.ready
    return part
  }

  /** PostgreSQL's own process, whose children are its backends. */
  async postgresPid(): Promise<number> {
    if (this.#postgres === undefined) throw new Error('the database is not started')
    return (await this.#postgres).pid
  }

  /** The URL of another database of the same server, made when it is missing. */
  async otherDatabase(name: string): Promise<string> {
    if (this.#postgres === undefined) throw new Error('the database is not started')
    return await ensureDatabase(await this.#postgres, name)
  }

  /** What the parts have said last, for whoever has to find out why one has failed. */
  lastWords(): string {
    return this.#lastLines.join('\n')
  }

  /** Ends everything and removes the folder. Nothing of it is worth a stop in order. */
  async remove(): Promise<void> {
    const all = [this, ...this.#beside]
    await Promise.all(all.map((stack) => stack.#end()))
    await this.#postgres?.then((server) => server.stop('immediate')).catch(() => {})
    await Promise.all(all.map((stack) => stack.#close()))
    await removeThrowawayFolder(this.#folder)
  }

  async #close(): Promise<void> {
    await this.#owner?.close().catch(() => {})
  }

  async #end(): Promise<void> {
    this.#removed = true
    for (const part of this.#services) part.kill()
    await Promise.all(this.#services.map(({ ended }) => ended))
  }

  readonly #log = (line: string): void => {
    this.#lastLines.push(line)
    if (this.#lastLines.length > REMEMBERED_LINES) this.#lastLines.shift()
  }
}
