// Starts a real redis-server, which can be paused, killed, filled, restored and made a replica.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, rename } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { createClient } from 'redis'
import { findFreePort } from '../../../dev/ports.ts'
import type { Certified } from '../../../test/support/certificates.ts'
import { startCuttableRelay } from '../../../test/support/cuttable-relay.ts'
import { requireProgram } from '../../../test/support/find-program.ts'
import { until } from '../../../test/support/until.ts'

type Client = ReturnType<typeof connectClient>

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** 0: it has no port with TLS. */
  readonly tlsPort: number
  /** A client of the test itself. */
  readonly client: Client
  /** Stops answering, without closing a connection. */
  pause(): void
  resume(): void
  kill(): Promise<void>
  /** Starts it again after `kill`, on the same port. It is empty, unless it was a replica. */
  start(): Promise<void>
  /** Writes a snapshot, and keeps it apart. */
  keepSnapshot(): Promise<void>
  /** Kills it, and starts it with the snapshot that was kept. */
  restoreSnapshot(): Promise<void>
  /** Kills it for good. */
  stop(): Promise<void>
}

interface LaunchOptions {
  /** An empty folder, for its snapshots. */
  readonly folder: string
  /** As on the command line: `['--maxmemory', '2mb']`. */
  readonly options?: readonly string[]
  /** Of the client of the test: `user:password@`. */
  readonly login?: string
  /** Its certificate, for a second port with TLS. */
  readonly tls?: Certified
}

/** By default a primary waits five seconds for more replicas before it begins to copy itself. */
const ALWAYS = ['--bind', '127.0.0.1', '--save', '', '--repl-diskless-sync-delay', '0']
const SNAPSHOT = 'dump.rdb'
const KEPT = 'kept.rdb'

/** @throws Error when redis-server is not installed. */
export async function launchRedis({
  folder,
  options = [],
  login = '',
  tls,
}: LaunchOptions): Promise<RedisServer> {
  const executable = requireProgram('redis-server')
  const port = await findFreePort()
  const tlsPort = tls === undefined ? 0 : await findOtherPort(port)
  const url = `redis://${login}127.0.0.1:${port}`
  let child: ChildProcess | undefined
  const kill = async () => {
    const former = child
    child = undefined
    // `kill` returns false for a process that has ended.
    if (former === undefined || former.exitCode !== null || !former.kill('SIGKILL')) return
    if (former.signalCode === null) await once(former, 'exit')
  }
  const start = async () => {
    const own = ['--port', String(port), '--dir', folder, ...tlsOptions(tlsPort, tls)]
    const started = spawn(executable, [...own, ...ALWAYS, ...options], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let output = ''
    started.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child = started
    await until(() => {
      if (started.exitCode !== null) throw new Error(`redis-server ended: ${output}`)
      return listens(port)
    })
  }
  await start()
  const client = connectClient(url)
  await client.connect()
  const startAgain = async () => {
    await start()
    await until(() =>
      client.ping().then(
        () => true,
        // It was stopped meanwhile.
        () => child === undefined,
      ),
    )
  }
  return {
    url,
    port,
    tlsPort,
    client,
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    kill,
    start: startAgain,
    async keepSnapshot() {
      // It may still copy itself to a replica.
      await until(() =>
        client.sendCommand(['SAVE']).then(
          () => true,
          (error: unknown) => {
            if (!String(error).includes('in progress')) throw error
            return false
          },
        ),
      )
      await rename(join(folder, SNAPSHOT), join(folder, KEPT))
    },
    async restoreSnapshot() {
      await kill()
      await copyFile(join(folder, KEPT), join(folder, SNAPSHOT))
      await startAgain()
    },
    async stop() {
      client.destroy()
      await kill()
    },
  }
}

async function findOtherPort(port: number): Promise<number> {
  const other = await findFreePort()
  return other === port ? await findOtherPort(port) : other
}

function tlsOptions(port: number, files?: Certified): string[] {
  if (files === undefined) return []
  const own = ['--tls-cert-file', files.certificate, '--tls-key-file', files.key]
  return ['--tls-port', String(port), ...own, '--tls-auth-clients', 'no']
}

function connectClient(url: string) {
  // Version 2 needs no HELLO, which a server may not know.
  const client = createClient({ url, RESP: 2, socket: { reconnectStrategy: 20 } })
  client.on('error', () => {})
  return client
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** A replica of a server that gets nothing more from `missWrites` on, as behind a network that is cut. */
export interface LaggingReplica {
  readonly server: RedisServer
  missWrites(): void
  promote(): Promise<void>
  /** Ends the connection to its primary, which has ended. */
  release(): Promise<void>
}

/** Makes the server, which is new, a replica of another one. */
export async function attachReplica(
  server: RedisServer,
  primary: Pick<RedisServer, 'port'>,
): Promise<LaggingReplica> {
  const relay = await startCuttableRelay(() => primary.port)
  const { client } = server
  await client.sendCommand(['REPLICAOF', '127.0.0.1', String(relay.port)])
  await until(async () => /master_link_status:up/.test(await client.info('replication')))
  return {
    server,
    missWrites: () => relay.cut(),
    async promote() {
      await client.sendCommand(['REPLICAOF', 'NO', 'ONE'])
    },
    release: () => relay.close(),
  }
}
