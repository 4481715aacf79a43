import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { startLimitedApi, type LimitedApi, type ServedApi } from '../../support/limited-api.ts'
import type { Tenant } from '../../support/service.ts'
import { lockKeys, untilWaitingForLock } from '../rude-clients/locked-keys.ts'
import {
  connectionsOf,
  paymentBytes,
  requestBytes,
  sendRaw,
  until,
  watchAccepted,
} from '../rude-clients/raw-connection.ts'

let limited: LimitedApi
let tenant: Tenant

beforeEach(async () => {
  limited = await startLimitedApi()
  tenant = await limited.createTenant()
})
afterEach(() => limited.stop())

/** An API that has so many connections at most. */
const serveMost = (most: number): Promise<ServedApi> =>
  limited.serve({ MAX_CONNECTIONS: String(most) })

/** A connection that the server has, and that sends nothing more than the bytes. */
async function openIdle(api: ServedApi, bytes = '') {
  const before = await connectionsOf(api.server)
  const connection = await sendRaw(api.url, bytes)
  await until(async () => (await connectionsOf(api.server)) > before)
  return connection
}

const statusOf = async (url: string, bytes: string): Promise<number | undefined> => {
  const connection = await sendRaw(url, bytes)
  const [answer] = await connection.untilAnswered(1)
  connection.socket.destroy()
  return answer?.status
}

test('beyond the bound, the connection that has been idle for the longest time makes room', async () => {
  const api = await serveMost(3)
  const first = await openIdle(api)
  const second = await openIdle(api, 'GET /healthz HTTP/1.1\r\nhost:')
  const third = await openIdle(api)

  expect(await statusOf(api.url, requestBytes())).toBe(200)
  await first.untilClosed()
  expect([second, third].map(({ socket }) => socket.closed)).toEqual([false, false])
  second.socket.destroy()
  third.socket.destroy()
})

test('a connection whose payment is worked on keeps its place, and gives it up afterwards', async () => {
  const api = await serveMost(2)
  const { locked, release } = await lockKeys(limited)
  const paying = await sendRaw(api.url, paymentBytes(tenant, 'first'))
  await untilWaitingForLock(limited)
  const idle = await openIdle(api)

  expect(await statusOf(api.url, requestBytes())).toBe(200)
  await idle.untilClosed()
  release()
  await locked
  const [answer] = await paying.untilAnswered(1)
  expect(answer?.status).toBe(202)

  const others = [await sendRaw(api.url), await sendRaw(api.url)]
  expect(await paying.untilClosed()).toHaveLength(1)
  for (const { socket } of others) socket.destroy()
})

test('when all are worked on, whoever comes is let go', async () => {
  const api = await serveMost(1)
  const { locked, release } = await lockKeys(limited)
  const paying = await sendRaw(api.url, paymentBytes(tenant, 'first'))
  await untilWaitingForLock(limited)

  const other = await sendRaw(api.url, paymentBytes(tenant, 'other'))
  expect(await other.untilClosed()).toEqual([])
  release()
  await locked
  const [answer] = await paying.untilAnswered(1)
  paying.socket.destroy()

  expect(answer?.status).toBe(202)
  expect(await limited.store.sql`select key from idempotency_keys`).toEqual([{ key: 'first' }])
})

test.each([
  [
    'sends its body slowly',
    () => paymentBytes(tenant, 'slow').slice(0, -5),
    ({ bytesRead }: Socket) => bytesRead > 0,
  ],
  [
    'does not take its answer',
    () => requestBytes({ path: '/docs/swagger-ui-bundle.js' }).repeat(20),
    ({ writableNeedDrain }: Socket) => writableNeedDrain,
  ],
])('a client that %s is owed nothing', async (_what, bytesOf, isSo) => {
  const api = await serveMost(1)
  const acceptedOf = watchAccepted(api.server)
  const slow = await sendRaw(api.url)
  slow.socket.pause().write(bytesOf())
  await until(() => {
    const accepted = acceptedOf(slow.socket)
    return accepted !== undefined && isSo(accepted)
  })

  expect(await statusOf(api.url, requestBytes())).toBe(200)
  slow.socket.resume()
  await slow.untilClosed()
  expect(await limited.store.sql`select from idempotency_keys`).toEqual([])
})
