// Runs the stack of `npm start`: PostgreSQL, migrations, demo tenant, Stripe stand-in, workers and
// API. Parts start in the order of their dependencies and stop in the reverse order.
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError } from '../../src/config-formats.ts'
import type { Config } from '../../src/config.ts'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import {
  ensureDemoTenant,
  readAdminApiKey,
  readDemoApiKey,
  readEncryptionKeys,
} from './generated-secrets.ts'
import { leaveStackSettings, removeStackSettings } from '../../src/start/stack-settings.ts'
import { ensureDatabase } from '../embedded-postgres/with-store.ts'
import { lockFolder } from '../embedded-postgres/folder-lock.ts'
import { startBreakItServer, type BreakItServer } from '../break-it/server.ts'
import { startNodeProcess } from './node-process.ts'
import { claimPort } from '../ports.ts'
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../embedded-postgres/postgres.ts'
import { createPartLog, type PartName } from './stack-output.ts'
import { StartError } from '../start-error.ts'
import { supervise, type Part, type SupervisedPart } from './supervise.ts'
import {
  LOOPBACK,
  portAfter,
  providerSettings,
  reachableHost,
  WEBHOOKS_SETTINGS,
  type Settings,
} from './process-settings.ts'

const DATABASE = 'atomic_payments'
/** A receiver of webhooks during development is usually http:// on this machine. */
const RECEIVERS = { WEBHOOK_ALLOW_INSECURE: 'true' }

/** Added to SHUTDOWN_TIMEOUT_MS, after which a process ends itself. */
const STOP_MARGIN_MS = 2_000
/** A stack that is stopping, or whose npm was killed, ends within this time. */
const OTHER_STACK_WAIT_MS = 5_000

const READY_LIMIT_MS = 60_000
const READY_POLL_MS = 50

export type RunningStack = Awaited<ReturnType<Stack['start']>>

export class Stack {
  readonly #config: Config
  readonly #log = createPartLog('stack')
  readonly #stopping = new AbortController()
  /** In start order: a part may depend on earlier ones. */
  readonly #parts: SupervisedPart<unknown>[] = []
  readonly #processes = new Map<string, SupervisedPart<unknown>>()
  #breakIt: BreakItServer | undefined
  #unlock = () => {}

  constructor(config: Config) {
    this.#config = { ...config, DATA_DIR: resolve(config.DATA_DIR) }
  }

  /**
   * Starts everything and resolves when a payment can succeed. With Stripe as the provider there is no
   * stand-in and no page that breaks the stack; with ADMIN_API_KEY, no key that was generated.
   *
   * @throws StartError when a part does not start. `stop` then stops the parts that did.
   */
  async start() {
    await this.#claimDataFolder()
    const apiKey = await readDemoApiKey(this.#config)
    const adminKey = await readAdminApiKey(this.#config)
    const port = await this.#claimPort('PORT', this.#config.HOST)
    const databaseUrl = this.#config.DATABASE_URL ?? (await this.#startPostgres())
    await this.#prepareDatabase(databaseUrl, apiKey)
    const encryption = await readEncryptionKeys(this.#config, databaseUrl)
    const apiUrl = `http://${reachableHost(this.#config.HOST)}:${port}`
    const webhooks = this.#webhookSettings(apiUrl)
    const { STRIPE_SECRET_KEY } = this.#config
    const standInUrl = STRIPE_SECRET_KEY ? undefined : await this.#startStandIn(webhooks)
    const provider = providerSettings(standInUrl, webhooks)
    const settings = { ...encryption, ...RECEIVERS, DATABASE_URL: databaseUrl }
    const admin = adminKey && { ADMIN_API_KEY: adminKey }
    await this.#startServices({ ...settings, ...provider, ...admin }, { PORT: String(port) })
    const ofCommands = { ATOMIC_URL: apiUrl, ...settings, ...provider, ...admin }
    await leaveStackSettings(this.#config.DATA_DIR, ofCommands)
    await waitForOk(`${apiUrl}/readyz`, this.#stopping.signal)
    this.#startWebhookWorker(settings)
    // Only beside the stand-in: it breaks no real provider.
    if (standInUrl !== undefined) {
      this.#breakIt = await startBreakItServer({
        apiUrl,
        standInUrl,
        databaseUrl,
        apiKey,
        adminKey: adminKey ?? this.#config.ADMIN_API_KEY?.[0]?.key ?? '',
        crash: (name) => this.#processes.get(name)?.crash(),
      })
    }
    return { apiUrl, standInUrl, breakItUrl: this.#breakIt?.url, apiKey, adminKey }
  }

  /** Shuts the parts down gracefully, one after the other, in reverse start order. */
  async stop(): Promise<void> {
    this.#stopping.abort(new StartError('stopped during the start'))
    await this.#breakIt?.stop()
    if (this.#parts.length === 0) return this.#unlock()
    this.#log('stopping')
    for (const part of this.#parts.toReversed()) await part.stop()
    await removeStackSettings(this.#config.DATA_DIR)
    this.#unlock()
    this.#log('stopped')
  }

  /** Ends every part at once, also while `stop` waits. The next start resumes open operations. */
  kill(): void {
    for (const part of this.#parts) part.kill()
  }

  async #claimDataFolder(): Promise<void> {
    const { DATA_DIR } = this.#config
    await mkdir(DATA_DIR, { recursive: true }).catch((cause: unknown) => {
      throw new StartError(`DATA_DIR ${DATA_DIR} cannot be created`, { cause })
    })
    try {
      this.#unlock = await lockFolder(DATA_DIR, OTHER_STACK_WAIT_MS)
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      throw new StartError(
        `another "npm start" runs with DATA_DIR ${DATA_DIR}. Stop it, or set DATA_DIR, PORT and ` +
          'MOCK_PROVIDER_PORT to other values for this one.',
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
    // A restarted server must keep its port, because the other parts know its URL.
    let port: number | undefined
    const startServer = async () => {
      const server = await startEmbeddedPostgres({ directory, durable: true, port, log })
      port = server.port
      return server
    }
    const start = () => postgresPart(startServer())
    return await ensureDatabase(await this.#startPart(() => supervise(start, log)), DATABASE)
  }

  async #prepareDatabase(databaseUrl: string, apiKey: string): Promise<void> {
    this.#log('migrating the database')
    try {
      await migrateDatabase(databaseUrl)
      await ensureDemoTenant(databaseUrl, apiKey)
    } catch (cause) {
      if (cause instanceof ConfigError) throw cause
      const hint = this.#config.DATABASE_URL === undefined ? '' : '. Check DATABASE_URL'
      throw new StartError(`the database could not be migrated${hint}`, { cause })
    }
  }

  /** The stand-in sends its events to the API, signed with a secret that this start generates. */
  #webhookSettings(apiUrl: string): Settings {
    const secret = `whsec_${randomBytes(24).toString('hex')}`
    return {
      STRIPE_WEBHOOK_SECRET: this.#config.STRIPE_WEBHOOK_SECRET ?? secret,
      MOCK_WEBHOOK_URL: this.#config.MOCK_WEBHOOK_URL ?? `${apiUrl}/provider/webhooks`,
    }
  }

  async #startStandIn(webhooks: Settings): Promise<string> {
    this.#log('starting the Stripe stand-in')
    const port = await this.#claimPort('MOCK_PROVIDER_PORT', LOOPBACK)
    // Its control routes falsify answers without authentication: it listens on loopback only.
    const settings = { ...webhooks, HOST: LOOPBACK, MOCK_PROVIDER_PORT: String(port) }
    await this.#startProcess('provider', 'dev/stripe-stand-in/main.ts', settings)
    const url = `http://${LOOPBACK}:${port}`
    await waitForOk(`${url}/_control/health`, this.#stopping.signal)
    return url
  }

  /**
   * The API comes last, so that it stops first: a worker that shuts down gets no new operations.
   */
  async #startServices(settings: Settings, ofApi: Settings): Promise<void> {
    this.#log('starting the worker and the API')
    const worker = this.#startProcess('worker', 'workers/main.ts', {
      ...settings,
      WORKER_QUEUES: 'payments,maintenance',
      METRICS_PORT: portAfter(this.#config.METRICS_PORT, 1),
    })
    const api = this.#startProcess('api', 'src/start/api.ts', {
      ...settings,
      CONSOLE: 'on',
      ...ofApi,
    })
    await Promise.all([worker, api])
  }

  /** No payment waits for it, so nothing waits until it is ready. */
  #startWebhookWorker(settings: Settings): void {
    const started = this.#startProcess('webhooks', 'workers/main.ts', {
      ...settings,
      ...WEBHOOKS_SETTINGS,
      METRICS_PORT: portAfter(this.#config.METRICS_PORT, 2),
    })
    // The log has the reason, and it is started again.
    started.catch(() => {})
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
    await this.#startPart(() => {
      const supervised = supervise(start, log)
      this.#processes.set(part, supervised)
      return supervised
    })
  }

  async #startPart<Handle>(start: () => SupervisedPart<Handle>): Promise<Handle> {
    this.#stopping.signal.throwIfAborted()
    const part = start()
    this.#parts.push(part)
    return part.ready
  }
}

/** Wraps a server that is starting. A `stop` during the start takes effect when it has started. */
function postgresPart(server: Promise<EmbeddedPostgres>): Part<EmbeddedPostgres> {
  const stop = (mode: 'fast' | 'immediate') => {
    // A server that failed to start needs no stop, and `ready` reports the failure.
    server.then((started) => started.stop(mode)).catch(() => {})
  }
  return {
    ready: server,
    ended: server.then(
      (started) => started.exited.then(() => 'ended'),
      (error: Error) => `did not start: ${error.message}`,
    ),
    stop: () => stop('fast'),
    kill: () => stop('immediate'),
  }
}

/** @throws StartError when the URL does not answer with a success in time; the reason of `stopping`. */
async function waitForOk(url: string, stopping: AbortSignal): Promise<void> {
  const limit = AbortSignal.timeout(READY_LIMIT_MS)
  const signal = AbortSignal.any([limit, stopping])
  while (!(await answersOk(url, signal))) {
    stopping.throwIfAborted()
    if (limit.aborted) {
      throw new StartError(`${url} was not ready after ${READY_LIMIT_MS} ms. The log is above.`)
    }
    await delay(READY_POLL_MS)
  }
}

async function answersOk(url: string, signal: AbortSignal): Promise<boolean> {
  return fetch(url, { signal }).then(
    (response) => response.ok,
    () => false,
  )
}
