// The one-command stack: PostgreSQL, migrations, demo tenant, mock provider, API and worker, started
// in the order of their needs, kept running, and stopped in the reverse order.
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../../src/config.ts'
import { ensureDemoTenant } from '../../src/db/tenants/demo-tenant.ts'
import { migrateDatabase } from '../../src/db/migrations/migrate.ts'
import { readAdminApiKey } from './admin-api-key.ts'
import { leaveDatabaseUrl, removeDatabaseUrl } from '../../src/start/stack-database-url.ts'
import { readDemoApiKey } from './demo-api-key.ts'
import { ensureDatabase } from '../embedded-postgres/ensure-database.ts'
import { lockFolder } from '../embedded-postgres/folder-lock.ts'
import { startNodeProcess } from './node-process.ts'
import { claimPort, findFreePort } from '../ports.ts'
import { postgresPart } from './postgres-part.ts'
import { startEmbeddedPostgres } from '../embedded-postgres/postgres.ts'
import { createPartLog, type PartName } from './stack-output.ts'
import { StartError } from '../start-error.ts'
import { supervise, type SupervisedPart } from './supervise.ts'

const DATABASE = 'atomic_payments'
const LOOPBACK = '127.0.0.1'
const STAND_IN_API_KEY = 'sk_test_mock'

/** On top of SHUTDOWN_TIMEOUT_MS, after which a process ends itself. */
const STOP_MARGIN_MS = 2_000
/** A stack that was told to stop, or whose npm was killed, is gone well within this. */
const OTHER_STACK_WAIT_MS = 5_000
const READY_LIMIT_MS = 60_000
const READY_POLL_MS = 50

export interface RunningStack {
  readonly apiUrl: string
  /** Undefined when the provider is Stripe itself. */
  readonly standInUrl: string | undefined
  readonly apiKey: string
  /** Undefined when the settings have operators' keys of their own. */
  readonly adminKey: string | undefined
}

type Settings = Record<string, string>

export class Stack {
  readonly #config: Config
  readonly #log = createPartLog('stack')
  readonly #stopping = new AbortController()
  /** In the order of their start: each needs some of those before it. */
  readonly #parts: SupervisedPart<unknown>[] = []
  #unlock = () => {}

  constructor(config: Config) {
    this.#config = { ...config, DATA_DIR: resolve(config.DATA_DIR) }
  }

  /**
   * Starts everything and resolves when a payment can succeed.
   *
   * @throws StartError when a part does not start; `stop` then stops those that did.
   */
  async start(): Promise<RunningStack> {
    await this.#claimDataFolder()
    const apiKey = await readDemoApiKey(this.#config)
    const adminKey = await readAdminApiKey(this.#config)
    const port = await this.#claimPort('PORT', this.#config.HOST)
    const databaseUrl = this.#config.DATABASE_URL ?? (await this.#startPostgres())
    await this.#prepareDatabase(databaseUrl, apiKey)
    const apiUrl = `http://${reachableHost(this.#config.HOST)}:${port}`
    const webhooks = this.#webhookSettings(apiUrl)
    const standInUrl = this.#config.STRIPE_SECRET_KEY
      ? undefined
      : await this.#startStandIn(webhooks)
    const provider = providerSettings(standInUrl, webhooks)
    const admin = adminKey === undefined ? {} : { ADMIN_API_KEY: adminKey }
    await this.#startServices({ ...provider, ...admin, DATABASE_URL: databaseUrl }, port)
    await this.#waitForOk(`${apiUrl}/readyz`)
    return { apiUrl, standInUrl, apiKey, adminKey }
  }

  /** Stops what runs, in the reverse order of its start, letting each finish what it does. */
  async stop(): Promise<void> {
    this.#stopping.abort(new StartError('stopped during its start'))
    if (this.#parts.length > 0) this.#log('stopping')
    for (const part of this.#parts.toReversed()) await part.stop()
    if (this.#parts.length > 0) await removeDatabaseUrl(this.#config.DATA_DIR)
    this.#unlock()
    if (this.#parts.length > 0) this.#log('stopped')
  }

  /** Hurries a `stop`: ends every part at once. What is left unfinished is resumed at the next start. */
  kill(): void {
    for (const part of this.#parts) part.kill()
  }

  async #claimDataFolder(): Promise<void> {
    const { DATA_DIR } = this.#config
    await mkdir(DATA_DIR, { recursive: true }).catch((cause: unknown) => {
      throw new StartError(`DATA_DIR ${DATA_DIR} cannot be made`, { cause })
    })
    try {
      this.#unlock = await lockFolder(DATA_DIR, OTHER_STACK_WAIT_MS)
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      throw new StartError(
        `another "npm start" runs with DATA_DIR ${DATA_DIR}. Stop it first, or give this one ` +
          'a DATA_DIR, a PORT and a MOCK_PROVIDER_PORT of its own.',
      )
    }
  }

  async #claimPort(variable: 'PORT' | 'MOCK_PROVIDER_PORT', host: string): Promise<number> {
    return claimPort({ variable, port: this.#config[variable], host, log: this.#log })
  }

  async #startPostgres(): Promise<string> {
    this.#log('starting PostgreSQL')
    const directory = join(this.#config.DATA_DIR, 'postgres')
    const log = createPartLog('postgres')
    // Chosen here, because it stays the same when the server has to be started again.
    const port = await findFreePort()
    const start = () => postgresPart(startEmbeddedPostgres({ directory, durable: true, port, log }))
    const url = await ensureDatabase(await this.#startPart(() => supervise(start, log)), DATABASE)
    await leaveDatabaseUrl(this.#config.DATA_DIR, url)
    return url
  }

  async #prepareDatabase(databaseUrl: string, apiKey: string): Promise<void> {
    this.#log('migrating the database')
    try {
      await migrateDatabase(databaseUrl)
      await ensureDemoTenant(databaseUrl, apiKey)
    } catch (cause) {
      throw new StartError('the database could not be migrated', { cause })
    }
  }

  /** The mock provider's events come to the API as Stripe's would, under a secret of this start. */
  #webhookSettings(apiUrl: string): Settings {
    const secret = `whsec_${randomBytes(24).toString('hex')}`
    return {
      STRIPE_WEBHOOK_SECRET: this.#config.STRIPE_WEBHOOK_SECRET ?? secret,
      MOCK_WEBHOOK_URL: this.#config.MOCK_WEBHOOK_URL ?? `${apiUrl}/provider/webhooks`,
    }
  }

  async #startStandIn(webhooks: Settings): Promise<string> {
    this.#log('starting the mock provider')
    const port = await this.#claimPort('MOCK_PROVIDER_PORT', LOOPBACK)
    // Whoever reaches its control routes can make it lie: loopback only, wherever the API listens.
    const settings = { ...webhooks, HOST: LOOPBACK, MOCK_PROVIDER_PORT: String(port) }
    await this.#startProcess('provider', 'dev/stripe-stand-in/main.ts', settings)
    const url = `http://${LOOPBACK}:${port}`
    await this.#waitForOk(`${url}/_control/health`)
    return url
  }

  /** In this order, so that the API is stopped first: then nothing new comes while the worker ends. */
  async #startServices(settings: Settings, port: number): Promise<void> {
    this.#log('starting the worker and the API')
    // Whoever tries the service out receives its webhooks on this machine.
    const local = { ...settings, WEBHOOK_ALLOW_INSECURE: 'true' }
    const { METRICS_PORT } = this.#config
    const worker = this.#startProcess('worker', 'workers/main.ts', {
      ...local,
      METRICS_PORT: portAfter(METRICS_PORT),
    })
    const api = this.#startProcess('api', 'src/start/api.ts', { ...local, PORT: String(port) })
    await Promise.all([worker, api])
  }

  async #startProcess(part: PartName, script: string, settings: Settings): Promise<void> {
    const { DATA_DIR, SHUTDOWN_TIMEOUT_MS } = this.#config
    const log = createPartLog(part)
    const start = () =>
      startNodeProcess({
        script,
        settings: { ...settings, DATA_DIR },
        stopLimitMs: SHUTDOWN_TIMEOUT_MS + STOP_MARGIN_MS,
        log,
      })
    await this.#startPart(() => supervise(start, log))
  }

  async #startPart<Handle>(start: () => SupervisedPart<Handle>): Promise<Handle> {
    this.#stopping.signal.throwIfAborted()
    const part = start()
    this.#parts.push(part)
    return part.ready
  }

  async #waitForOk(url: string): Promise<void> {
    const limit = AbortSignal.timeout(READY_LIMIT_MS)
    const signal = AbortSignal.any([limit, this.#stopping.signal])
    while (!(await answersOk(url, signal))) {
      this.#stopping.signal.throwIfAborted()
      if (limit.aborted) throw new StartError(`${url} is not ready after ${READY_LIMIT_MS} ms`)
      await delay(READY_POLL_MS)
    }
  }
}

async function answersOk(url: string, signal: AbortSignal): Promise<boolean> {
  return fetch(url, { signal }).then(
    (response) => response.ok,
    () => false,
  )
}

/** Points the services at the mock provider; without one they are left to the environment's Stripe. */
function providerSettings(standInUrl: string | undefined, webhooks: Settings): Settings {
  return standInUrl === undefined
    ? {}
    : { ...webhooks, STRIPE_SECRET_KEY: STAND_IN_API_KEY, STRIPE_API_BASE: standInUrl }
}

/** The port after one that is set; 0 and unset stay what they are. */
function portAfter(port: number | undefined): string {
  if (port === undefined) return ''
  return String(port === 0 ? 0 : port + 1)
}

/** The address to call a server at that listens on `host`, which may stand for every interface. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return LOOPBACK
  return isIPv6(host) ? `[${host}]` : host
}
