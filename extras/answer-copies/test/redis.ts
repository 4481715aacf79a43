// Starts real Redis servers for a test file.
import { randomBytes } from 'node:crypto'
import { afterAll } from '@jest/globals'
import type { Certified } from '../../../test/support/certificates.ts'
import {
  attachReplica,
  launchRedis,
  type LaggingReplica,
  type RedisServer,
} from './redis-server.ts'
import { makeTemporaryFolder } from '../../../test/support/temporary-folder.ts'
import { testWith } from '../../../test/support/test-with.ts'
import { until } from '../../../test/support/until.ts'

export type { RedisServer } from './redis-server.ts'

export const testWithRedis = testWith('redis-server')

const servers: RedisServer[] = []
const replicas: LaggingReplica[] = []

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()))
  await Promise.all(replicas.map((replica) => replica.release()))
})

/**
 * @param options as on the command line: `['--maxmemory', '2mb']`.
 * @param login of the client of the test: `user:password@`.
 * @param tls the certificate of the server, for a second port with TLS.
 */
export async function startRedis(
  options: readonly string[] = [],
  login = '',
  tls?: Certified,
): Promise<RedisServer> {
  const folder = await makeTemporaryFolder()
  const server = await launchRedis({ folder, options, login, ...(tls && { tls }) })
  servers.push(server)
  return server
}

export async function startReplica(primary: RedisServer): Promise<LaggingReplica> {
  const replica = await attachReplica(await startRedis(), primary)
  replicas.push(replica)
  return replica
}

/** Options with which a server takes 50 ms for each name that it loads, and answers in between. */
export const SLOW_TO_LOAD = [
  '--key-load-delay',
  '50000',
  '--loading-process-events-interval-bytes',
  '1024',
]

/**
 * Restarts the server with 4 seconds of data. It loads them when this resolves, with a function that waits
 * until it has.
 */
export async function loadSlowly(server: RedisServer): Promise<() => Promise<void>> {
  const names = Array.from({ length: 80 }, (_, number) => [`${number}`, randomBytes(1_024)])
  await server.client.mSet(Object.fromEntries(names))
  await server.keepSnapshot()
  const loaded = server.restoreSnapshot()
  const isLoading = () =>
    server.client.ping().then(
      () => false,
      (error: unknown) => String(error).includes('LOADING'),
    )
  await until(isLoading)
  return () => loaded
}
