// The classic design works while Redis keeps what it acknowledged, and charges twice when it does not.
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect } from '@jest/globals'
import { executeOnce } from '../bench/redis-alone.ts'
import { startRedis, startReplica, testWithRedis as test } from './redis.ts'
import { until } from '../../../test/support/until.ts'

let charges: string[]

beforeEach(() => {
  charges = []
})

const request = () => ({ tenantId: randomUUID(), key: randomUUID(), fingerprint: 'body' })

async function charge(): Promise<string> {
  charges.push('charge')
  return `payment ${charges.length}`
}

describe('while Redis keeps what it acknowledged', () => {
  test('executes once, and replays the answer', async () => {
    const { client } = await startRedis()
    const same = request()

    const first = await executeOnce(client, same, charge)
    const second = await executeOnce(client, same, charge)
    const other = await executeOnce(client, { ...same, fingerprint: 'other' }, charge)

    expect(first).toEqual({ status: 'executed', answer: 'payment 1' })
    expect(second).toEqual({ status: 'replayed', answer: 'payment 1' })
    expect(other).toEqual({ status: 'reused' })
    expect(charges).toHaveLength(1)
  })

  test('of many requests at once, one executes', async () => {
    const { client } = await startRedis()
    const same = request()
    const done = Promise.withResolvers<string>()

    const all = Array.from({ length: 50 }, () =>
      executeOnce(client, same, async () => {
        await charge()
        return await done.promise
      }),
    )
    await Promise.race(all)
    done.resolve('answer')
    const statuses = (await Promise.all(all)).map(({ status }) => status)

    expect(statuses.filter((status) => status === 'executed')).toHaveLength(1)
    expect(statuses.filter((status) => status === 'in_progress')).toHaveLength(49)
    expect(charges).toHaveLength(1)
  })

  test('a request that failed frees its key', async () => {
    const { client } = await startRedis()
    const same = request()

    const failed = await executeOnce(client, same, () => Promise.reject(new Error('declined')))

    expect(failed).toEqual({ status: 'failed' })
    expect(await executeOnce(client, same, charge)).toMatchObject({ status: 'executed' })
  })
})

describe('the second charge that the design allows', () => {
  test('a failover to a replica that missed the writes: the retry is executed again', async () => {
    const primary = await startRedis()
    const replica = await startReplica(primary)
    const same = request()

    replica.missWrites()
    await executeOnce(primary.client, same, charge)
    await primary.kill()
    await replica.promote()
    const retry = await executeOnce(replica.server.client, same, charge)

    expect(retry).toEqual({ status: 'executed', answer: 'payment 2' })
    expect(charges).toHaveLength(2)
  })

  test('an old snapshot: the retry is executed again', async () => {
    const redis = await startRedis()
    const same = request()
    await redis.keepSnapshot()
    await executeOnce(redis.client, same, charge)

    await redis.restoreSnapshot()
    await executeOnce(redis.client, same, charge)

    expect(charges).toHaveLength(2)
  })

  test('an evicted key: the retry is executed again', async () => {
    const redis = await startRedis()
    const same = request()
    await executeOnce(redis.client, same, charge)
    await redis.client.configSet({ maxmemory: '1', 'maxmemory-policy': 'allkeys-lru' })
    await until(async () => (await redis.client.dbSize()) === 0)
    await redis.client.configSet({ maxmemory: '0' })

    await executeOnce(redis.client, same, charge)

    expect(charges).toHaveLength(2)
  })
})
