// A lane: an isolated place in which one run is made after the other. It has its own database,
// provider stand-ins, API and worker behind proxies, and a standby process for each role. Several
// lanes work at once and share only the PostgreSQL server.
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Executed, type Provider, providerAt } from '../simulate/faults.ts'
import { openStore, type Store } from '../../src/db/connection/client.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import { type NameServer, startNameServer } from '../../test/support/name-server.ts'
import { startPgBouncer } from '../../test/support/pgbouncer.ts'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import { startListening } from '../listening-process.ts'
import type { ExtraServer, LaneOptions } from './lane-parts.ts'
import {
  makeDatabase,
  needPages,
  openApiRelay,
  SHORT_LIMITS,
  startSecondProvider,
  watchMoves,
} from './lane-parts.ts'
import type { Role } from './points.ts'
import { programIn } from './programs.ts'
import { secondProvider } from './extras.ts'
import { ServiceProcess } from './service-process.ts'
import { Watch } from './watch.ts'

const IDLE_MS = 2_500
const POLL_MS = 20
/** A resumed process completes the statements and calls that it had begun within this time. */
const RESUME_MS = 300
/** The name of every provider proxy, in a lane in which the provider has a name. */
const PROVIDER_NAME = 'provider.test'
/** The shortest time for which the worker keeps an answer. */
export const SHORT_TTL_SECONDS = 1
/** Enough for the processes that work, stand by and end. PgBouncer tries a lost server again soon. */
const POOLER = {
  pool_mode: 'transaction',
  default_pool_size: 200,
  max_client_conn: 500,
  server_login_retry: 1,
}
/** After a start that failed because the store is away. */
const RESTART_PAUSE_MS = 50

/** Keeps compiled code for the processes that start next. */
function cacheIn({ programs }: LaneOptions): string {
  return join(programs, 'compiled')
}

type Parts = Awaited<ReturnType<typeof startParts>>

async function startParts(options: LaneOptions) {
  const databaseUrl = await makeDatabase(options)
  if (options.template === undefined) await migrateDatabase(databaseUrl)
  const folder = join(options.folder, options.name)
  await mkdir(folder, { recursive: true })
  const secret = () => randomBytes(16).toString('hex')
  const secrets = [`sk_test_${secret()}`, `whsec_${secret()}`, secret()] as const
  const names = options.byName === true ? await startNameServer() : undefined
  const second = options.secondProvider === true ? secondProvider : undefined
  names?.set(PROVIDER_NAME, ['127.0.0.1'], SHORT_TTL_SECONDS)
  const settings = {
    ...SHORT_LIMITS,
    DATA_DIR: folder,
    STRIPE_SECRET_KEY: secrets[0],
    STRIPE_WEBHOOK_SECRET: secrets[1],
    ENCRYPTION_KEYS: `lane:${randomBytes(32).toString('base64')}`,
    ...(names && { DNS_SERVERS: names.address }),
    ...second?.settings(secrets[2]),
    ...options.settings,
  }
  const cached = { NODE_COMPILE_CACHE: cacheIn(options) }
  const ofStandIn = { ...settings, ...cached, MOCK_PROVIDER_PORT: '0' }
  return {
    databaseUrl,
    standIn: await startListening(programIn(options.programs, 'mock-provider'), ofStandIn),
    settings,
    secrets,
    names,
    relay: await openApiRelay(),
    pooler: options.pooled === true ? await startPgBouncer(databaseUrl, POOLER) : undefined,
    extra: await options.extraServer?.start(folder),
    second: second && (await startSecondProvider(second, options.programs, cached)),
  }
}

export interface LaneTenant {
  readonly id: string
  readonly apiKey: string
}

export class Lane {
  readonly options: LaneOptions
  readonly watch: Watch
  /** Connects as the owner of the database, past every proxy. */
  readonly owner: Store
  readonly provider: Provider
  readonly providerUrl: string
  /** Must not appear in any log. */
  readonly secrets: readonly string[]
  readonly #parts: Parts
  readonly #service: (role: Role) => Promise<ServiceProcess>
  readonly #current = new Map<Role, ServiceProcess>()
  readonly #standbys = new Map<Role, Promise<ServiceProcess>>()
  readonly #replaced: ServiceProcess[] = []
  readonly #terminations: Promise<void>[] = []
  /**
   * Restarts in progress. Only the last one of a role is awaited: an older one may be suspended.
   */
  readonly #restarts = new Map<Role, PromiseWithResolvers<void>>()
  /** Past every proxy. */
  readonly databaseUrl: string
  #removal: Promise<void> | undefined

  private constructor(options: LaneOptions, parts: Parts) {
    this.options = options
    this.watch = new Watch(options.idle)
    this.#parts = parts
    this.providerUrl = parts.standIn.url
    this.provider = providerAt(this.providerUrl)
    this.secrets = parts.secrets
    this.databaseUrl = parts.databaseUrl
    this.owner = openStore({
      url: parts.databaseUrl,
      applicationName: 'fault suite',
      poolSize: 2,
      timeoutMs: 30_000,
    })
    const { settings, names, pooler, second, extra } = parts
    const { programs, lowPriority = false } = options
    const service = {
      programs,
      databaseUrl: pooler?.url ?? parts.databaseUrl,
      providerUrls: { first: this.providerUrl, second: second?.standIn.url },
      providerName: names && PROVIDER_NAME,
      extraServer: extra,
      settings,
      cacheFolder: cacheIn(options),
      watch: this.watch,
      lowPriority,
    }
    this.#service = (role) => ServiceProcess.standBy({ role, ...service })
  }

  static async start(options: LaneOptions): Promise<Lane> {
    const lane = new Lane(options, await startParts(options))
    try {
      await lane.#begin()
    } catch (error) {
      await lane.remove()
      throw error
    }
    return lane
  }

  async #begin(): Promise<void> {
    await watchMoves(this.owner)
    if (this.options.disk !== undefined) await needPages(this.owner)
    await Promise.all([this.activateStandby('api'), this.activateStandby('worker')])
    const { statements } = this.watch
    // An idle process repeats everything that it does within this time.
    while (this.options.idle === undefined && statements.learntForMs < IDLE_MS) await wait(POLL_MS)
    statements.endLearning()
  }

  get apiUrl(): string {
    return this.#parts.relay.url
  }

  /** Knows the provider, and whatever a run adds. */
  get names(): NameServer {
    if (this.#parts.names === undefined) throw new Error('the lane has no name server')
    return this.#parts.names
  }

  get extraServer(): ExtraServer | undefined {
    return this.#parts.extra
  }

  /** What all providers of the lane have executed, in the words of the first one. */
  async listExecuted(): Promise<Executed[]> {
    const [first, second] = await Promise.all([
      this.provider.listExecuted(),
      this.#parts.second?.listExecuted(),
    ])
    return [...first, ...(second ?? [])]
  }

  /** The providers execute at once what they would have executed late, and have no faults any more. */
  async removeFaults(): Promise<void> {
    await Promise.all([this.provider.removeFaults(), this.#parts.second?.removeFaults()])
  }

  /** Creates a tenant for one run, so that runs do not see each other. */
  async createTenant(): Promise<LaneTenant> {
    const apiKey = `sk_test_${randomBytes(16).toString('hex')}`
    return { apiKey, id: await createTenant(this.owner, { name: 'run', apiKey }) }
  }

  /** The process of that role that works now. */
  process(role: Role): ServiceProcess {
    const process = this.#current.get(role)
    if (process === undefined) throw new Error(`the lane has no ${role}`)
    return process
  }

  /** All live processes, including those that a successor replaced. */
  get processes(): readonly ServiceProcess[] {
    return [...this.#current.values(), ...this.#replaced]
  }

  /** Puts the standby process in place of the current one, which stays as it is. */
  async activateStandby(role: Role): Promise<ServiceProcess> {
    const standby = this.#standbys.get(role) ?? this.#service(role)
    // Before the first await, so that no other caller gets the same process.
    this.#standbys.delete(role)
    const next = await standby
    if (this.#isRemoved) {
      // Only this call knows the process.
      await next.remove()
      throw new Error(`the lane was removed before its ${role} began`)
    }
    const former = this.#current.get(role)
    if (former !== undefined) this.#replaced.push(former)
    if (role === 'api') this.#parts.relay.passTo(undefined)
    this.#current.set(role, next)
    const hasStandby = this.options.standbys?.includes(role) !== false
    // At once: a fault may need a second one. Another call may have started it meanwhile.
    if (hasStandby && !this.#standbys.has(role)) this.#standbys.set(role, this.#service(role))
    await next.start()
    if (this.#isRemoved || this.#current.get(role) !== next) return next
    if (role === 'api') this.#parts.relay.passTo(next.port)
    void next.ended.then(() => this.#supervise(role, next))
    return next
  }

  /** Whether both processes work, as far as the lane knows. */
  get isWhole(): boolean {
    return this.#restarts.size === 0
  }

  /** Resolves when both processes work again. */
  async untilWhole(): Promise<void> {
    while (this.#restarts.size > 0) {
      await Promise.all([...this.#restarts.values()].map(({ promise }) => promise))
    }
  }

  /** Restarts a process that ended, as a supervisor does in production. */
  #supervise(role: Role, ended: ServiceProcess): void {
    if (this.#isRemoved || this.#current.get(role) !== ended) return
    this.#restart(role)
  }

  /** Starts successors until one works. */
  #restart(role: Role): void {
    const own = Promise.withResolvers<void>()
    this.#restarts.get(role)?.resolve()
    this.#restarts.set(role, own)
    const isWanted = () => !this.#isRemoved && this.#restarts.get(role) === own
    const restart = async () => {
      while (isWanted()) {
        try {
          await this.activateStandby(role)
          break
        } catch {
          await wait(RESTART_PAUSE_MS)
        }
      }
      if (this.#restarts.get(role) === own) this.#restarts.delete(role)
      own.resolve()
    }
    void restart()
  }

  /** Suspends the process with SIGSTOP and puts a successor in its place. */
  suspend(role: Role): void {
    this.process(role).signal('SIGSTOP')
    this.#restart(role)
  }

  /** Sends SIGTERM to the process and puts a successor in its place. */
  terminate(role: Role): void {
    const process = this.process(role)
    process.signal('SIGTERM')
    this.#terminations.push(process.ended)
    this.#restart(role)
  }

  /** Resolves when all processes that got SIGTERM have ended. */
  async untilTerminated(): Promise<void> {
    await Promise.all(this.#terminations.splice(0))
  }

  /** Cuts the connections of the clients. */
  cutClients(): void {
    this.#parts.relay.cut()
  }

  /** Cuts the clients off from their API, which goes on, and connects them to another one. */
  moveClients(): void {
    this.#parts.relay.passTo(undefined)
    this.#parts.relay.cut()
    this.#restart('api')
  }

  /** Resumes the suspended processes and waits while they do what they were about to do. */
  async resumeSuspended(): Promise<void> {
    const suspended = this.#replaced.filter(({ hasEnded }) => !hasEnded)
    for (const process of suspended) process.signal('SIGCONT')
    if (suspended.length > 0) await wait(RESUME_MS)
  }

  async terminateBackend(pid: number): Promise<void> {
    await this.owner.sql`select pg_terminate_backend(${pid})`
  }

  /** Crashes the server of the lane, and resolves when it accepts connections again. */
  async crashServer(): Promise<void> {
    const { crash } = this.options.server
    if (crash === undefined) throw new Error('the lane shares its server')
    await crash()
  }

  /** Describes the processes that ended unexpectedly since the last call. */
  takeUnexpectedExits(): string[] {
    return this.processes.flatMap((process) => process.takeUnexpectedExit() ?? [])
  }

  /** Ends the processes that were replaced and returns their log lines. */
  async removeReplaced(): Promise<readonly string[]> {
    const replaced = this.#replaced.splice(0)
    await Promise.all(replaced.map((process) => process.remove()))
    return replaced.flatMap(({ lines }) => lines)
  }

  /** The log lines of the current processes since the last call. */
  takeLines(): string[] {
    return [...this.#current.values()].flatMap(({ lines }) => lines.splice(0))
  }

  get #isRemoved(): boolean {
    return this.#removal !== undefined
  }

  /** Ends all processes. The database stays until its server is removed. */
  remove(): Promise<void> {
    return (this.#removal ??= this.#end())
  }

  async #end(): Promise<void> {
    const standbys = await Promise.allSettled(this.#standbys.values())
    const standbyProcesses = standbys.flatMap((next) =>
      next.status === 'fulfilled' ? [next.value] : [],
    )
    await Promise.all([...this.processes, ...standbyProcesses].map((process) => process.remove()))
    const { relay, names, pooler, extra, second, standIn } = this.#parts
    relay.close()
    // In order, so that they leave compiled code for the next processes.
    for (const part of [standIn, second?.standIn]) part?.process.stop()
    const others = [names, pooler, extra].map((part) => part?.stop())
    const ends = [standIn, second?.standIn].map((part) => part?.process.ended)
    await Promise.all([...others, ...ends, this.owner.close()])
  }
}
