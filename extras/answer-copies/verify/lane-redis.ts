// The Redis of a lane: a real redis-server with a replica that misses everything since it was attached.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startCuttableRelay } from '../../../test/support/cuttable-relay.ts'
import type { Watch } from '../../../verify/faults/watch.ts'
import { attachReplica, launchRedis, type RedisServer } from '../test/redis-server.ts'
import { openRedisProxy } from './redis-proxy.ts'

/** Longer than the API waits for a command, so that it notices. */
const ABSENCE_MS = 700

export type LaneRedis = Awaited<ReturnType<typeof startLaneRedis>>

export async function startLaneRedis(folder: string) {
  let servers = 0
  const launch = async () => {
    servers += 1
    const own = join(folder, `redis-${servers}`)
    await mkdir(own)
    return await launchRedis({ folder: own })
  }
  const attachLagging = async (primary: RedisServer) => {
    const replica = await attachReplica(await launch(), primary)
    replica.missWrites()
    return replica
  }
  let server = await launch()
  let replica = await attachLagging(server)
  await server.keepSnapshot()
  // Leads to the server, also after a failover.
  const address = await startCuttableRelay(() => server.port)
  return {
    openProxy: (watch: Watch) => openRedisProxy(address.port, watch),
    /** How many names were found so far. */
    async countHits(): Promise<number> {
      const [, hits = ''] = /keyspace_hits:(\d+)/.exec(await server.client.info('stats')) ?? []
      return Number(hits)
    },
    async flush(): Promise<void> {
      await server.client.flushAll()
    },
    keepSnapshot: () => server.keepSnapshot(),
    restoreSnapshot: () => server.restoreSnapshot(),
    /** It comes back without what it had. */
    async crash(): Promise<void> {
      await server.kill()
      await wait(ABSENCE_MS)
      await server.start()
    },
    async pause(): Promise<void> {
      server.pause()
      await wait(ABSENCE_MS)
      server.resume()
    },
    /** Nothing passes for a while, and no connection ends. */
    async cut(): Promise<void> {
      address.cut()
      await wait(ABSENCE_MS)
      address.heal()
    },
    async fill(): Promise<void> {
      const { client } = server
      await client.configSet({ maxmemory: '1', 'maxmemory-policy': 'noeviction' })
      await wait(ABSENCE_MS)
      await client.configSet({ maxmemory: '0' })
    },
    /** The replica is promoted, and the next one is attached to it. */
    async failOver(): Promise<void> {
      const [former, promoted] = [server, replica]
      server = promoted.server
      await former.stop()
      await promoted.promote()
      await promoted.release()
      await server.keepSnapshot()
      replica = await attachLagging(server)
    },
    async stop(): Promise<void> {
      await Promise.all([server.stop(), replica.server.stop()])
      await Promise.all([replica.release(), address.close()])
    },
  }
}
