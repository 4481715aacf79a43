// Starts a primary with a standby, on which a test can make failovers. Each server is reached through
// a relay, so that it can be cut off, from its clients and from its standby.
import { execFile } from 'node:child_process'
import { appendFile, chown, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { openStore, type Sql, type Store } from '../../src/db/connection/client.ts'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../dev/embedded-postgres/postgres.ts'
import { startCuttableRelay, type CuttableRelay } from './cuttable-relay.ts'
import { until } from './until.ts'
import { signalAll } from './signal-all.ts'

const execute = promisify(execFile)

/** The name under which a standby connects. */
const STANDBY = 'standby'

/** Leads to one server after the other. */
interface Address {
  readonly relay: CuttableRelay
  server: EmbeddedPostgres | undefined
}

/** What can happen to a server. */
export interface ReplicatedServer {
  readonly port: number
  readonly relay: CuttableRelay
  /** Leads past the relay, as a superuser. */
  readonly url: string
  /** Connects there. */
  readonly sql: Sql
  /** As when its machine loses power. */
  kill(): Promise<void>
  /** As when its machine freezes: the connections stay open, and the system still accepts new ones. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** As when an operator fences it: it accepts no writes any more. */
  makeReadOnly(): Promise<void>
  stop(): Promise<void>
}

interface ReplicationOptions {
  /** An empty folder that all users may enter. */
  readonly folder: string
  /** Whether a commit waits for the standby; by default it does. */
  readonly isSynchronous?: boolean
  /** Prepares the primary before the standby is copied from it, for example by the migrations. */
  readonly prepare?: (url: string) => Promise<void>
}

export class ReplicatedPostgres {
  readonly #options: ReplicationOptions
  readonly #password: string
  readonly #addresses: readonly Address[]
  #primary: ReplicatedServer
  #standby: ReplicatedServer | undefined
  /** All that were started, also former primaries that a failed test has left behind. */
  readonly #servers: ReplicatedServer[]

  private constructor(
    options: ReplicationOptions,
    addresses: readonly Address[],
    primary: ReplicatedServer,
    password: string,
  ) {
    this.#options = options
    this.#addresses = addresses
    this.#primary = primary
    this.#servers = [primary]
    this.#password = password
  }

  static async start(options: ReplicationOptions): Promise<ReplicatedPostgres> {
    const home = join(options.folder, 'server-1')
    const server = await startServer(home)
    await options.prepare?.(server.url('postgres'))
    const password = await readFile(join(home, 'password'), 'utf8')
    const addresses = [await openAddress(), await openAddress()] as const
    const primary = control(server, addresses[0])
    const replicated = new ReplicatedPostgres(options, addresses, primary, password)
    await replicated.attachStandby()
    return replicated
  }

  get primary(): ReplicatedServer {
    return this.#primary
  }

  get standby(): ReplicatedServer {
    if (this.#standby === undefined) throw new Error('there is no standby')
    return this.#standby
  }

  /** Names the primary and the standby, through their relays. */
  url(database: string): string {
    return this.urlAt([this.primary.relay.port, this.standby.relay.port], database)
  }

  /** Names ports of this machine that lead to the servers. */
  urlAt(ports: readonly number[], database: string): string {
    const hosts = ports.map((port) => `127.0.0.1:${port}`)
    return `postgres://postgres:${this.#password}@${hosts.join(',')}/${database}`
  }

  /** Makes the standby the primary, and returns the former one, which may still work. */
  async promote(): Promise<ReplicatedServer> {
    const former = this.#primary
    await this.standby.sql`select pg_promote()`
    this.#primary = this.standby
    this.#standby = undefined
    return former
  }

  /** Copies the running primary if it has no standby, and waits until the copy follows it. */
  async attachStandby(): Promise<void> {
    if (this.#standby !== undefined) return
    const { folder, isSynchronous = true } = this.#options
    const { sql, url, relay } = this.#primary
    const home = join(folder, `server-${this.#servers.length + 1}`)
    await copyServer(url, home, [
      `primary_conninfo = 'host=127.0.0.1 port=${relay.port} user=postgres ` +
        `password=${this.#password} application_name=${STANDBY}'`,
      `synchronous_standby_names = ''`,
    ])
    const server = await startServer(home)
    const address = this.#addresses.find((one) => one.relay !== relay) as Address
    // It may be cut off since its former server was lost.
    address.relay.heal()
    this.#standby = control(server, address)
    this.#servers.push(this.#standby)
    if (isSynchronous) {
      await sql.unsafe(`alter system set synchronous_standby_names = '${STANDBY}'`)
      await sql`select pg_reload_conf()`
    }
    const expected = isSynchronous ? 'sync' : 'async'
    await until(async () => {
      const [row] = await sql`select sync_state from pg_stat_replication`
      return row?.['sync_state'] === expected
    })
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()))
    await Promise.all(this.#addresses.map(({ relay }) => relay.close()))
  }
}

/** As `pg_basebackup` does, which the npm package lacks. `cp` keeps the owner. */
async function copyServer(url: string, home: string, settings: readonly string[]): Promise<void> {
  const backup = postgres(url, { max: 1 })
  const [row] = await backup<{ folder: string }[]>`
    select current_setting('data_directory') as folder
  `
  const folder = row?.folder ?? ''
  const cluster = join(home, 'cluster')
  try {
    await backup`select pg_backup_start('standby', fast => true)`
    await execute('cp', ['-a', join(folder, '..'), home])
    const [stopped] = await backup<{ label: string }[]>`
      select labelfile as label from pg_backup_stop(wait_for_archive => false)
    `
    await writeFile(join(cluster, 'backup_label'), stopped?.label ?? '')
  } finally {
    await backup.end()
  }
  for (const file of ['postmaster.pid', 'postmaster.opts']) await rm(join(cluster, file))
  await writeFile(join(cluster, 'standby.signal'), '')
  await appendFile(join(cluster, 'postgresql.auto.conf'), `${settings.join('\n')}\n`)
  const { uid, gid } = await stat(cluster)
  for (const file of ['backup_label', 'standby.signal']) await chown(join(cluster, file), uid, gid)
}

function startServer(directory: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ directory, durable: false, log: () => {} })
}

async function openAddress(): Promise<Address> {
  const relay = await startCuttableRelay(() => address.server?.port ?? 0)
  const address: Address = { relay, server: undefined }
  return address
}

function control(server: EmbeddedPostgres, address: Address): ReplicatedServer {
  address.server = server
  const store: Store = openStore({
    url: server.url('postgres'),
    applicationName: 'atomic-payments test',
    poolSize: 2,
    timeoutMs: 20_000,
  })
  const signal = async (name: NodeJS.Signals) => {
    signalAll(await processesOf(server.pid), name)
  }
  const kill = async () => {
    await signal('SIGKILL')
    await server.exited
  }
  const stop = async () => {
    await kill()
    await store.close()
  }
  let stopping: Promise<void> | undefined
  return {
    port: server.port,
    url: server.url('postgres'),
    relay: address.relay,
    sql: store.sql,
    kill,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async makeReadOnly() {
      await store.sql.unsafe('alter system set default_transaction_read_only = on')
      await store.sql`select pg_reload_conf()`
    },
    stop: () => (stopping ??= stop()),
  }
}

/** A server and its children, the server first: it starts no more of them once it is stopped. */
async function processesOf(serverPid: number): Promise<number[]> {
  const { stdout } = await execute('ps', ['-A', '-o', 'pid=,ppid='])
  const pairs = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  const children = pairs.filter(([, parent]) => parent === serverPid).map(([pid = 0]) => pid)
  return [serverPid, ...children]
}
