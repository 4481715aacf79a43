// How long connections may be idle: as long as a load balancer in front keeps them in its pool.
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { anotherApi, limitedApi } from '../../support/for-file.ts'
import { requestBytes, sendRaw, type RawConnection } from '../rude-clients/raw-connection.ts'

const TIMEOUTS = { checkIntervalMs: 50, silenceMaxMs: 1_000 }

/** Longer than Node keeps connections by default, and than each other limit of the API. */
const IDLE_MS = 11_000
const POOL = 60

const api = limitedApi({ WAIT_MAX_SECONDS: '0' }, TIMEOUTS)
const brief = anotherApi(api, { WAIT_MAX_SECONDS: '0', HTTP_KEEP_ALIVE_SECONDS: '1' })

const open = (url: string, count: number, bytes: string): Promise<RawConnection[]> =>
  Promise.all(Array.from({ length: count }, () => sendRaw(url, bytes)))

test('the pool of a load balancer meets no reset after a pause', async () => {
  const used = await open(api.url, POOL, requestBytes())
  // Opened ahead of the requests.
  const unused = await open(api.url, POOL, '')
  await Promise.all(used.map((connection) => connection.untilAnswered(1)))
  await delay(IDLE_MS)
  const send = (count: number) => async (connection: RawConnection) => {
    connection.socket.write(requestBytes())
    return (await connection.untilAnswered(count)).at(-1)?.status
  }
  const answers = await Promise.allSettled([...used.map(send(2)), ...unused.map(send(1))])
  for (const { socket } of [...used, ...unused]) socket.destroy()

  const expected = { status: 'fulfilled', value: 200 }
  expect(answers).toEqual(Array.from({ length: 2 * POOL }, () => expected))
})

test('an answer says for how long its connection is kept', async () => {
  const [connection] = await open(api.url, 1, requestBytes())
  const [answer] = (await connection?.untilAnswered(1)) ?? []
  connection?.socket.destroy()

  expect(answer?.headers['keep-alive']).toBe('timeout=75')
})

test('HTTP_KEEP_ALIVE_SECONDS limits the time between two requests', async () => {
  const [connection] = await open(brief.url, 1, requestBytes())
  const startedAt = performance.now()
  const answers = await connection?.untilClosed()

  expect(answers?.map(({ headers }) => headers['keep-alive'])).toEqual(['timeout=1'])
  expect(performance.now() - startedAt).toBeGreaterThan(1_000)
})

test('the limit for headers is above it', async () => {
  const [connection] = await open(brief.url, 1, '')
  const startedAt = performance.now()
  const answers = await connection?.untilClosed()

  expect(answers?.map(({ status }) => status)).toEqual([408])
  expect(performance.now() - startedAt).toBeGreaterThan(2_000)
})
