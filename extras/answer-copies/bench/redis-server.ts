// Starts the redis-server of the benchmark on a free port, as a cache: bounded, without persistence.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { createClient } from 'redis'
import { findFreePort } from '../../../dev/ports.ts'

export interface RedisProcess {
  readonly url: string
  readonly pid: number
  stop(): void
}

/** @throws Error when redis-server is not installed. */
export async function startRedisServer(): Promise<RedisProcess> {
  const port = await findFreePort()
  const options = { port, bind: '127.0.0.1', dir: tmpdir(), save: '', maxmemory: '256mb' }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn('redis-server', [...args, '--maxmemory-policy', 'allkeys-lru'], {
    stdio: 'ignore',
  })
  await once(child, 'spawn')
  const url = `redis://127.0.0.1:${port}`
  const client = createClient({ url, socket: { reconnectStrategy: 50 } })
  client.on('error', () => {})
  await client.connect()
  client.destroy()
  return { url, pid: child.pid ?? 0, stop: () => void child.kill('SIGKILL') }
}
