// The Redis of a lane: a real redis-server with a replica that misses everything since it was attached.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type CuttableRelay, startCuttableRelay } from '../../test/support/cuttable-relay.ts'
import type { LaggingReplica, RedisServer } from '../../test/support/redis-server.ts'
import { attachReplica, launchRedis } from '../../test/support/redis-server.ts'

/** Longer than the API waits for a command, so that it notices. */
const ABSENCE_MS = 700

interface Parts {
  readonly launch: () => Promise<RedisServer>
  readonly server: RedisServer
  readonly replica: LaggingReplica
  readonly address: CuttableRelay
}

export class LaneRedis {
  readonly #launch: Parts['launch']
  readonly #address: CuttableRelay
  #server: RedisServer
  #replica: LaggingReplica

  private constructor({ launch, server, replica, address }: Parts) {
    this.#launch = launch
    this.#address = address
    this.#server = server
    this.#replica = replica
  }

  static async start(folder: string): Promise<LaneRedis> {
    const launch = launcherIn(folder)
    const server = await launch()
    const replica = await attachLagging(await launch(), server)
    const address = await startCuttableRelay(() => redis.#server.port)
    const redis = new LaneRedis({ launch, server, replica, address })
    await redis.keepSnapshot()
    return redis
  }

  /** Leads to the server, also after a failover. */
  get port(): number {
    return this.#address.port
  }

  /** How many names were found so far. */
  async countHits(): Promise<number> {
    const [, hits = ''] = /keyspace_hits:(\d+)/.exec(await this.#server.client.info('stats')) ?? []
    return Number(hits)
  }

  async flush(): Promise<void> {
    await this.#server.client.flushAll()
  }

  keepSnapshot(): Promise<void> {
    return this.#server.keepSnapshot()
  }

  restoreSnapshot(): Promise<void> {
    return this.#server.restoreSnapshot()
  }

  /** It comes back without what it had. */
  async crash(): Promise<void> {
    await this.#server.kill()
    await wait(ABSENCE_MS)
    await this.#server.start()
  }

  async pause(): Promise<void> {
    this.#server.pause()
    await wait(ABSENCE_MS)
    this.#server.resume()
  }

  /** Nothing passes for a while, and no connection ends. */
  async cut(): Promise<void> {
    this.#address.cut()
    await wait(ABSENCE_MS)
    this.#address.heal()
  }

  async fill(): Promise<void> {
    const { client } = this.#server
    await client.configSet({ maxmemory: '1', 'maxmemory-policy': 'noeviction' })
    await wait(ABSENCE_MS)
    await client.configSet({ maxmemory: '0' })
  }

  /** The replica is promoted, and the next one is attached to it. */
  async failOver(): Promise<void> {
    const [former, replica] = [this.#server, this.#replica]
    this.#server = replica.server
    await former.stop()
    await replica.promote()
    await replica.release()
    await this.keepSnapshot()
    this.#replica = await attachLagging(await this.#launch(), replica.server)
  }

  async stop(): Promise<void> {
    await Promise.all([this.#server.stop(), this.#replica.server.stop()])
    await Promise.all([this.#replica.release(), this.#address.close()])
  }
}

/** Gives each server a folder of its own. */
function launcherIn(parent: string): () => Promise<RedisServer> {
  let servers = 0
  return async () => {
    servers += 1
    const folder = join(parent, `redis-${servers}`)
    await mkdir(folder)
    return await launchRedis({ folder })
  }
}

async function attachLagging(server: RedisServer, primary: RedisServer): Promise<LaggingReplica> {
  const replica = await attachReplica(server, primary)
  replica.missWrites()
  return replica
}
