// A place where one run after the other is made: a database, a mock provider, and an API and a worker behind
// proxies, each with a successor that stands by. Several lanes work at once and share nothing but a server.
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { providerAt, type Provider } from '../simulate/provider.ts'
import { openStore, type Store } from '../../src/db/connection/client.ts'
import { migrateDatabase } from '../../src/db/migrations/migrate.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import { startNodeProcess, type NodeProcess } from '../../dev/stack/node-process.ts'
import { findFreePort } from '../../dev/ports.ts'
import { ApiRelay } from './api-relay.ts'
import { needPages } from './disk-full.ts'
import { makeDatabase } from './lane-database.ts'
import { watchMoves } from './moves.ts'
import type { Role } from './points.ts'
import { programIn } from './programs.ts'
import { ServiceProcess } from './service-process.ts'
import type { SmallDisk } from './small-disk.ts'
import { SHORT_LIMITS } from './short-limits.ts'
import { Watch } from './watch.ts'

const IDLE_MS = 2_500
const POLL_MS = 20
const STOP_LIMIT_MS = 2_000
/** Statements and calls that it had in mind are over within that. */
const WAKING_MS = 300
/** After a start that failed, because the store is away. */
const REVIVE_PAUSE_MS = 50

export interface LaneServer {
  url(database: string): string
  /** Resolves when the server works again; undefined for one that others use. */
  readonly crash?: () => Promise<void>
}

export interface LaneOptions {
  /** Shared with other lanes, unless faults strike the server itself. */
  readonly server: LaneServer
  /** Of the database, which the lane makes. */
  readonly name: string
  /** What idle processes say, as an earlier lane has learnt it, which takes its time. */
  readonly idle?: ReadonlySet<string>
  /** Where the lane may leave files. */
  readonly folder: string
  /** The folder of the programs of its processes. */
  readonly programs: string
  /** Settings of API and worker that differ from the lanes' usual ones. */
  readonly settings?: Readonly<Record<string, string>>
  /** A migrated database of the same server, of which the lane's becomes a copy. */
  readonly template?: string
  /** What holds the database; why there is none; undefined when the server is shared. */
  readonly disk?: SmallDisk | string
  /** Whose successors stand by, which costs as much as those that work; unless it is said, everybody's. */
  readonly spares?: readonly Role[]
  /** Whether API and worker leave the processors to those of lanes that do not. */
  readonly yields?: boolean
}

/** Where what was compiled is kept for the processes that are started next. */
function cacheIn({ folder }: LaneOptions): string {
  return join(folder, 'compiled')
}

export interface LaneTenant {
  readonly id: string
  readonly apiKey: string
}

export class Lane {
  readonly options: LaneOptions
  readonly watch: Watch
  /** The database as its owner sees it, past every proxy. */
  readonly owner: Store
  readonly provider: Provider
  readonly providerUrl: string
  /** What must appear in no log. */
  readonly secrets: readonly string[]
  readonly #relay: ApiRelay
  readonly #mock: NodeProcess
  readonly #service: (role: Role) => Promise<ServiceProcess>
  readonly #current = new Map<Role, ServiceProcess>()
  readonly #next = new Map<Role, Promise<ServiceProcess>>()
  readonly #retired: ServiceProcess[] = []
  readonly #dismissed: Promise<void>[] = []
  /** Whoever has a role taken over last is waited for; a successor that stands still is no concern of anybody's. */
  readonly #reviving = new Map<Role, PromiseWithResolvers<void>>()
  #isRemoved = false

  private constructor(
    options: LaneOptions,
    parts: {
      readonly databaseUrl: string
      readonly providerUrl: string
      readonly mock: NodeProcess
      readonly relay: ApiRelay
      readonly settings: Readonly<Record<string, string>>
      readonly secrets: readonly string[]
    },
  ) {
    this.options = options
    this.watch = new Watch(options.idle)
    this.#relay = parts.relay
    this.#mock = parts.mock
    this.providerUrl = parts.providerUrl
    this.provider = providerAt(parts.providerUrl)
    this.secrets = parts.secrets
    this.owner = openStore({
      url: parts.databaseUrl,
      applicationName: 'fault suite',
      poolSize: 2,
      timeoutMs: 30_000,
    })
    const { databaseUrl, providerUrl, settings } = parts
    const cacheFolder = cacheIn(options)
    const { programs, yields = false } = options
    const { watch } = this
    const usual = { programs, databaseUrl, providerUrl, settings, cacheFolder, watch, yields }
    this.#service = (role) => ServiceProcess.standBy({ role, ...usual })
  }

  static async start(options: LaneOptions): Promise<Lane> {
    const databaseUrl = await makeDatabase(options)
    if (options.template === undefined) await migrateDatabase(databaseUrl)
    const folder = join(options.folder, options.name)
    await mkdir(folder, { recursive: true })
    const secret = () => randomBytes(16).toString('hex')
    const secrets = [`sk_test_${secret()}`, `whsec_${secret()}`] as const
    const shared = {
      ...SHORT_LIMITS,
      DATA_DIR: folder,
      STRIPE_SECRET_KEY: secrets[0],
      STRIPE_WEBHOOK_SECRET: secrets[1],
      ...options.settings,
    }
    const port = await findFreePort()
    const mock = startNodeProcess({
      script: programIn(options.programs, 'mock-provider'),
      settings: {
        ...shared,
        NODE_COMPILE_CACHE: cacheIn(options),
        MOCK_PROVIDER_PORT: String(port),
      },
      stopLimitMs: STOP_LIMIT_MS,
      log: () => {},
    })
    await mock.ready
    const relay = await ApiRelay.open()
    const providerUrl = `http://127.0.0.1:${port}`
    const settings = shared
    const lane = new Lane(options, { databaseUrl, providerUrl, mock, relay, settings, secrets })
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
    await Promise.all([this.succeed('api'), this.succeed('worker')])
    const { statements } = this.watch
    // All that they do by themselves, they do at least this often.
    while (this.options.idle === undefined && statements.learntForMs < IDLE_MS) await wait(POLL_MS)
    statements.endLearning()
  }

  get apiUrl(): string {
    return this.#relay.url
  }

  /** A tenant of a run's own, so that runs do not see each other. */
  async createTenant(): Promise<LaneTenant> {
    const apiKey = `sk_test_${randomBytes(16).toString('hex')}`
    return { apiKey, id: await createTenant(this.owner, { name: 'run', apiKey }) }
  }

  /** The process that works now. */
  process(role: Role): ServiceProcess {
    const process = this.#current.get(role)
    if (process === undefined) throw new Error(`the lane has no ${role}`)
    return process
  }

  /** All that live, those included that a successor stands in for. */
  get processes(): readonly ServiceProcess[] {
    return [...this.#current.values(), ...this.#retired]
  }

  /** Has the one that stands by work in place of the one that works, which is left as it is. */
  async succeed(role: Role): Promise<ServiceProcess> {
    const standing = this.#next.get(role) ?? this.#service(role)
    // Before anything is waited for: nobody else is to take the same one.
    this.#next.delete(role)
    const next = await standing
    if (this.#isRemoved) {
      // Nobody else knows of it.
      await next.remove()
      throw new Error(`the lane was removed before its ${role} began`)
    }
    const former = this.#current.get(role)
    if (former !== undefined) this.#retired.push(former)
    if (role === 'api') this.#relay.passTo(undefined)
    this.#current.set(role, next)
    await next.start()
    if (this.#isRemoved || this.#current.get(role) !== next) return next
    if (role === 'api') this.#relay.passTo(next.port)
    if (this.options.spares?.includes(role) !== false) this.#next.set(role, this.#service(role))
    void next.ended.then(() => this.#supervise(role, next))
    return next
  }

  /** Whether both processes work, as far as is known. */
  get isWhole(): boolean {
    return this.#reviving.size === 0
  }

  /** Resolves when both processes work again. */
  async whole(): Promise<void> {
    while (this.#reviving.size > 0) {
      await Promise.all([...this.#reviving.values()].map(({ promise }) => promise))
    }
  }

  /** As whatever runs the service does: what ends is started again, until it works. */
  #supervise(role: Role, ended: ServiceProcess): void {
    if (this.#isRemoved || this.#current.get(role) !== ended) return
    this.#revive(role)
  }

  /** Has successors start until one works. */
  #revive(role: Role): void {
    const own = Promise.withResolvers<void>()
    this.#reviving.get(role)?.resolve()
    this.#reviving.set(role, own)
    const isWanted = () => !this.#isRemoved && this.#reviving.get(role) === own
    const revive = async () => {
      while (isWanted()) {
        try {
          await this.succeed(role)
          break
        } catch {
          await wait(REVIVE_PAUSE_MS)
        }
      }
      if (this.#reviving.get(role) === own) this.#reviving.delete(role)
      own.resolve()
    }
    void revive()
  }

  /** Has the process stand still, and a successor work in its place. */
  stun(role: Role): void {
    this.process(role).signal('SIGSTOP')
    this.#revive(role)
  }

  /** Tells the process to stop in order, and has a successor work in its place. */
  dismiss(role: Role): void {
    const dismissed = this.process(role)
    dismissed.signal('SIGTERM')
    this.#dismissed.push(dismissed.ended)
    this.#revive(role)
  }

  /** Resolves when all that were told to stop have done so. */
  async dismissed(): Promise<void> {
    await Promise.all(this.#dismissed.splice(0))
  }

  /** Has the clients lose their connections. */
  cutClients(): void {
    this.#relay.cut()
  }

  /** Has the clients lose the API that serves them, which goes on by itself, and find another one. */
  moveClients(): void {
    this.#relay.passTo(undefined)
    this.#relay.cut()
    this.#revive('api')
  }

  /** Has those that stand still go on, and lets them do what they were about to. */
  async wakeStunned(): Promise<void> {
    const stunned = this.#retired.filter(({ isOver }) => !isOver)
    for (const process of stunned) process.signal('SIGCONT')
    if (stunned.length > 0) await wait(WAKING_MS)
  }

  async endBackend(pid: number): Promise<void> {
    await this.owner.sql`select pg_terminate_backend(${pid})`
  }

  /** Crashes the server of the lane, and resolves when it accepts connections again. */
  async crashServer(): Promise<void> {
    const { crash } = this.options.server
    if (crash === undefined) throw new Error('the lane shares its server')
    await crash()
  }

  /** How processes have ended that nobody had end so, since this was last asked. */
  takeUnaskedEnds(): string[] {
    return this.processes.flatMap((process) => process.takeUnasked() ?? [])
  }

  /** Ends the processes that have successors, and gives back what they have said. */
  async buryRetired(): Promise<readonly string[]> {
    const buried = this.#retired.splice(0)
    await Promise.all(buried.map((process) => process.remove()))
    return buried.flatMap(({ lines }) => lines)
  }

  /** What the processes that work have said since this was last asked. */
  takeLines(): string[] {
    return [...this.#current.values()].flatMap(({ lines }) => lines.splice(0))
  }

  /** Ends everything and leaves the database; the server is another's. */
  async remove(): Promise<void> {
    this.#isRemoved = true
    const standing = await Promise.allSettled(this.#next.values())
    const spare = standing.flatMap((next) => (next.status === 'fulfilled' ? [next.value] : []))
    await Promise.all([...this.processes, ...spare].map((process) => process.remove()))
    // In order, so that it leaves what it has compiled for the next one.
    this.#mock.stop()
    await Promise.all([this.#mock.ended, this.#relay.close(), this.owner.close()])
  }
}
