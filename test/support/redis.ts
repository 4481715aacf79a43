// Starts a real redis-server, which a test can pause, kill, fill, restore and make a replica. Without it
// on the machine its tests fail: CI installs it.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { afterAll } from '@jest/globals'
import { createClient } from 'redis'
import { findFreePort } from '../../dev/ports.ts'
import { startCuttableRelay, type CuttableRelay } from './cuttable-relay.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'
import { until } from './until.ts'

type Client = ReturnType<typeof connectClient>

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** A client of the test itself. */
  readonly client: Client
  /** Stops answering, without closing a connection. */
  pause(): void
  resume(): void
  kill(): Promise<void>
  /** Starts it again after `kill`, on the same port, with the snapshot if there is one. */
  start(): Promise<void>
  /** Writes a snapshot, and keeps it apart. */
  keepSnapshot(): Promise<void>
  /** Kills it, and starts it with the snapshot that was kept. */
  restoreSnapshot(): Promise<void>
}

const SNAPSHOT = 'dump.rdb'
const KEPT = 'kept.rdb'

const children = new Set<ChildProcess>()
const clients: Client[] = []
const relays: CuttableRelay[] = []

afterAll(async () => {
  for (const client of clients) client.destroy()
  for (const child of children) child.kill('SIGKILL')
  await Promise.all([...children].map((child) => once(child, 'exit')))
  await Promise.all(relays.map((relay) => relay.close()))
})

/** @param options as on the command line: `['--maxmemory', '2mb']`. */
export async function startRedis(
  options: readonly string[] = [],
  login = '',
): Promise<RedisServer> {
  const folder = await makeTemporaryFolder()
  const port = await findFreePort()
  const url = `redis://${login}127.0.0.1:${port}`
  let child: ChildProcess | undefined
  const kill = async () => {
    if (child === undefined) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    children.delete(child)
    child = undefined
  }
  const start = async () => {
    child = spawn(
      'redis-server',
      ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...options],
      { stdio: 'ignore' },
    )
    children.add(child)
    await until(() => listens(port))
  }
  await start()
  const client = connectClient(url)
  await client.connect()
  clients.push(client)
  const startAgain = async () => {
    await start()
    await until(() =>
      client.ping().then(
        () => true,
        () => false,
      ),
    )
  }
  return {
    url,
    port,
    client,
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    kill,
    start: startAgain,
    async keepSnapshot() {
      await client.sendCommand(['SAVE'])
      await copyFile(join(folder, SNAPSHOT), join(folder, KEPT))
    },
    async restoreSnapshot() {
      await kill()
      await copyFile(join(folder, KEPT), join(folder, SNAPSHOT))
      await startAgain()
    },
  }
}

function connectClient(url: string) {
  const client = createClient({ url, socket: { reconnectStrategy: 20 } })
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
}

export async function startReplica(primary: RedisServer): Promise<LaggingReplica> {
  const relay = await startCuttableRelay(() => primary.port)
  relays.push(relay)
  const server = await startRedis()
  const { client } = server
  await client.sendCommand(['REPLICAOF', '127.0.0.1', String(relay.port)])
  await until(async () => /master_link_status:up/.test(await client.info('replication')))
  return {
    server,
    missWrites: () => relay.cut(),
    async promote() {
      await client.sendCommand(['REPLICAOF', 'NO', 'ONE'])
    },
  }
}
