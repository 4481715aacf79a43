// Tests the connection to Redis with real servers: what each failure costs, and when it is used again.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import pino from 'pino'
import { silentAnswersObserver } from '../../../src/answers/answers.ts'
import { connectRedis, type RedisLink } from '../redis-link.ts'
import { startRedis, type RedisServer, testWithRedis as test } from './redis.ts'
import { until } from '../../../test/support/until.ts'

/** Longer than a busy machine stops a process. */
const TIMEOUT_MS = 2_000
const MINUTE_MS = 60_000

let link: RedisLink | undefined
let lines: string[]
let lost: number

beforeEach(() => {
  lines = []
  lost = 0
})
afterEach(() => link?.close())

function connect(url: string, timeoutMs = TIMEOUT_MS): RedisLink {
  link = connectRedis({
    url,
    prefix: 'test:',
    timeoutMs,
    log: pino({}, { write: (line: string) => void lines.push(line) }),
    observe: { ...silentAnswersObserver, lostCopy: () => void (lost += 1) },
  })
  return link
}

async function connectWhenUsable(server: RedisServer, timeoutMs = TIMEOUT_MS): Promise<RedisLink> {
  const connected = connect(server.url, timeoutMs)
  await until(() => connected.isUsable())
  return connected
}

const forAMinute = () => ({ untilMs: Date.now() + MINUTE_MS, onlyIfNew: false })

test('keeps a text under the prefix until its time', async () => {
  const server = await startRedis()
  const usable = await connectWhenUsable(server)

  await usable.set('name', 'text', forAMinute())

  expect(await usable.get('name')).toEqual({ result: 'hit', value: 'text' })
  expect(await usable.get('other')).toEqual({ result: 'miss' })
  expect(await server.client.keys('*')).toEqual(['test:name'])
  const ttl = await server.client.pTTL('test:name')
  expect(ttl).toBeGreaterThan(MINUTE_MS / 2)
  expect(ttl).toBeLessThanOrEqual(MINUTE_MS)
})

test('a text that is only for a new name does not replace another', async () => {
  const usable = await connectWhenUsable(await startRedis())

  await usable.set('name', 'answer', forAMinute())
  await usable.set('name', 'in progress', { ...forAMinute(), onlyIfNew: true })

  expect(await usable.get('name')).toMatchObject({ value: 'answer' })
})

test('a paused Redis delays the requests of one moment, once, and is used after it answers', async () => {
  const server = await startRedis()
  const usable = await connectWhenUsable(server)
  await usable.set('name', 'text', forAMinute())

  server.pause()
  const startedAt = performance.now()
  const first = await Promise.all([usable.get('name'), usable.get('name'), usable.get('name')])
  const delayMs = performance.now() - startedAt
  const later = await Promise.all(Array.from({ length: 500 }, () => usable.get('name')))
  const laterMs = performance.now() - startedAt - delayMs
  server.resume()

  // A probe may have noticed it before.
  for (const { result } of first) expect(['error', 'skipped']).toContain(result)
  // Not one after another.
  expect(delayMs).toBeLessThan(TIMEOUT_MS * first.length)
  expect(new Set(later.map(({ result }) => result))).toEqual(new Set(['skipped']))
  expect(laterMs).toBeLessThan(TIMEOUT_MS)
  await until(() => usable.isUsable())
  expect(await usable.get('name')).toMatchObject({ value: 'text' })
})

test('a Redis that was killed is used again when it has started', async () => {
  const server = await startRedis()
  const usable = await connectWhenUsable(server)

  await server.kill()
  await until(() => !usable.isUsable())
  expect(await usable.get('name')).toEqual({ result: 'skipped' })
  await server.start()

  await until(() => usable.isUsable())
  expect(await usable.get('name')).toEqual({ result: 'miss' })
})

test('a full Redis refuses copies and still answers reads', async () => {
  const server = await startRedis(['--maxmemory-policy', 'noeviction'])
  const usable = await connectWhenUsable(server)
  await usable.set('name', 'text', forAMinute())
  await server.client.configSet('maxmemory', '1')

  await usable.set('other', 'text', forAMinute())

  expect(lost).toBe(1)
  expect(usable.isUsable()).toBe(true)
  expect(await usable.get('name')).toMatchObject({ value: 'text' })
})

test('a replica refuses copies and still answers reads', async () => {
  const [primary, replica] = await Promise.all([startRedis(), startRedis()])
  await primary.client.set('test:name', 'text')
  await replica.client.sendCommand(['REPLICAOF', '127.0.0.1', String(primary.port)])
  await until(async () => (await replica.client.get('test:name')) === 'text')
  const usable = await connectWhenUsable(replica)

  await usable.set('other', 'text', forAMinute())

  expect(lost).toBe(1)
  expect(await usable.get('name')).toMatchObject({ value: 'text' })
})

describe('a password', () => {
  const password = `secret-${randomUUID()}`

  test('of a server that is not there is not logged', async () => {
    const server = await startRedis()
    await server.kill()
    const usable = connect(server.url.replace('redis://', `redis://user:${password}@`))

    await until(() => lines.some((line) => line.includes('ECONNREFUSED')))

    expect(await usable.get('name')).toEqual({ result: 'skipped' })
    expect(lines.join('')).not.toContain(password)
  })
})
