// The limit on connections, and which connection is closed when there are too many.
import type { Socket } from 'node:net'
import { beforeEach, expect, test } from '@jest/globals'
import { limitedApi } from '../../support/for-file.ts'
import type { ServedApi } from '../../support/served-api.ts'
import type { Tenant } from '../../support/service.ts'
import { lockKeys, untilWaitingForLock } from '../rude-clients/locked-keys.ts'
import {
  connectionsOf,
  paymentBytes,
  requestBytes,
  sendRaw,
  watchAccepted,
} from '../rude-clients/raw-connection.ts'
import { until } from '../../support/until.ts'

const limited = limitedApi()
let tenant: Tenant

beforeEach(async () => {
  tenant = await limited.createTenant()
})

/** Serves an API with this maximum of connections. */
const serveMost = (most: number): Promise<ServedApi> =>
  limited.serve({ MAX_CONNECTIONS: String(most) })

/** Opens a connection, sends the bytes and nothing more, and waits until the server has it. */
async function openIdle(api: ServedApi, bytes = '') {
  const before = await connectionsOf(api.server)
  const connection = await sendRaw(api.url, bytes)
  await until(async () => (await connectionsOf(api.server)) > before)
  return connection
}

const keysOf = ({ id }: Tenant) =>
  limited.store.sql`select key from idempotency_keys where tenant_id = ${id}`

const statusOf = async (url: string, bytes: string): Promise<number | undefined> => {
  const connection = await sendRaw(url, bytes)
  const [answer] = await connection.untilAnswered(1)
  connection.socket.destroy()
  return answer?.status
}

test('beyond the limit, the connection that is idle longest is closed', async () => {
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

test('a connection is not closed while its payment is worked on, but may be closed afterwards', async () => {
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

test('a new connection is closed when all others are busy', async () => {
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
  expect(await keysOf(tenant)).toEqual([{ key: 'first' }])
})

test.each([
  [
    'sends its body slowly',
    () => paymentBytes(tenant, 'slow').slice(0, -5),
    ({ bytesRead }: Socket) => bytesRead > 0,
  ],
  [
    'does not read its answer',
    () => requestBytes({ path: '/openapi.yaml' }).repeat(200),
    ({ writableNeedDrain }: Socket) => writableNeedDrain,
  ],
])('a connection whose client %s counts as idle', async (_what, bytesOf, isReached) => {
  const api = await serveMost(1)
  const acceptedOf = watchAccepted(api.server)
  const slow = await sendRaw(api.url)
  slow.socket.pause().write(bytesOf())
  await until(() => {
    const accepted = acceptedOf(slow.socket)
    return accepted !== undefined && isReached(accepted)
  })

  expect(await statusOf(api.url, requestBytes())).toBe(200)
  slow.socket.resume()
  await slow.untilClosed()
  expect(await keysOf(tenant)).toEqual([])
})
