// Clients that send the next request before they have the answer to the last one.
import type { Socket } from 'node:net'
import { beforeEach, describe, expect, jest, test } from '@jest/globals'
import { AHEAD_MAX } from '../../../src/http/limits/api-server.ts'
import { paymentBody } from '../../support/client.ts'
import type { Tenant } from '../../support/service.ts'
import { lockTable, untilWaitingForLock } from './locked-keys.ts'
import {
  connectionsOf,
  lookupBytes,
  paymentBytes,
  requestBytes,
  sendRaw,
  type RawAnswer,
} from './raw-connection.ts'
import { until } from '../../support/until.ts'
import { limitedApi } from '../../support/for-file.ts'

/** Files of 145 KB each: together more than all buffers, and fewer than a connection may have. */
const LARGE_FILES = 95

const statusesOf = (answers: readonly RawAnswer[]) => answers.map(({ status }) => status)

/** The bytes of payments with the keys `key-1`, `key-2` and so on. */
function paymentsBytes(tenant: Tenant, count: number): string {
  return Array.from({ length: count }, (_, index) => paymentBytes(tenant, `key-${index + 1}`)).join(
    '',
  )
}

describe('pipelined requests', () => {
  const api = limitedApi()
  let tenant: Tenant
  beforeEach(async () => {
    tenant = await api.createTenant()
  })

  const keysOf = async () => {
    const rows = await api.store.sql<{ key: string }[]>`
      select key from idempotency_keys where tenant_id = ${tenant.id} order by created_at
    `
    return rows.map(({ key }) => key)
  }

  test('are answered in their order', async () => {
    const amounts = [101, 102, 103, 104, 105]
    const bytes = amounts.flatMap((amount) => [
      paymentBytes(tenant, `of-${amount}`, { body: JSON.stringify(paymentBody({ amount })) }),
      requestBytes({ path: `/problems/nothing-${amount}` }),
    ])
    const connection = await sendRaw(api.url, bytes.join(''))
    const answers = await connection.untilAnswered(2 * amounts.length)
    connection.socket.destroy()

    expect(statusesOf(answers)).toEqual(amounts.flatMap(() => [202, 404]))
    const paid = answers.filter(({ status }) => status === 202)
    expect(paid.map(({ json }) => json['amount'])).toEqual(amounts)
  })

  test('begin when the earlier ones are answered', async () => {
    const { locked, release } = await lockTable(api)
    const connection = await sendRaw(
      api.url,
      paymentBytes(tenant, 'first') + lookupBytes(tenant, '/v1/payments'),
    )
    await untilWaitingForLock(api)
    release()
    await locked
    const [payment, list] = await connection.untilAnswered(2)
    connection.socket.destroy()

    expect(payment?.status).toBe(202)
    expect(list?.json['data']).toEqual([expect.objectContaining({ id: payment?.json['id'] })])
  })

  test.each([
    ['is not HTTP', 'no http at all\r\n\r\n', [202, 400], ['first']],
    [
      'has two lengths',
      requestBytes({ method: 'POST', headers: { 'content-length': '1\r\ncontent-length: 2' } }),
      [202, 400],
      ['first'],
    ],
    ['has no Host', requestBytes({ headers: { host: undefined } }), [202, 400], ['first']],
    [
      'has an unknown path',
      requestBytes({ path: '/nowhere' }),
      [202, 404, 202],
      ['first', 'third'],
    ],
  ])(
    'are refused from the one that %s on, or only that one',
    async (_what, bad, statuses, keys) => {
      const bytes = [paymentBytes(tenant, 'first'), bad, paymentBytes(tenant, 'third')]
      const connection = await sendRaw(api.url, bytes.join(''))
      const answers = await connection.untilAnswered(statuses.length)
      connection.socket.end()
      await connection.untilClosed()

      expect(statusesOf(answers)).toEqual(statuses)
      expect(statusesOf(connection.answers())).toEqual(statuses)
      expect(await keysOf()).toEqual(keys)
    },
  )

  test('do not begin after their client has disconnected', async () => {
    const { locked, release } = await lockTable(api)
    const connection = await sendRaw(api.url, paymentsBytes(tenant, 5))
    await untilWaitingForLock(api)
    connection.socket.resetAndDestroy()
    await until(async () => (await connectionsOf(api.server)) === 0)
    release()
    await locked
    await until(async () => (await keysOf()).length > 0)

    // Later requests would have servedCount before this one.
    const other = await sendRaw(api.url, paymentBytes(tenant, 'other'))
    await other.untilAnswered(1)
    other.socket.destroy()
    expect(await keysOf()).toEqual(['key-1', 'other'])
  })

  test('end their connection when too many are waiting', async () => {
    const { locked, release } = await lockTable(api)
    const connection = await sendRaw(api.url, paymentBytes(tenant, 'first'))
    await untilWaitingForLock(api)
    connection.socket.write(requestBytes().repeat(3 * AHEAD_MAX))
    expect(await connection.untilClosed()).toEqual([])
    release()
    await locked
    await until(async () => (await keysOf()).includes('first'))
  })

  test('are worked on only as far as the client reads their answers', async () => {
    const sockets: Socket[] = []
    api.server.on('connection', (socket: Socket) => sockets.push(socket))
    const takePlace = jest.spyOn(api.parts.limits.slots, 'take')
    const file = requestBytes({ path: '/openapi.yaml' })
    const connection = await sendRaw(api.url)
    connection.socket.pause().write(file.repeat(LARGE_FILES))
    await until(() => sockets.some(({ writableNeedDrain }) => writableNeedDrain))
    const servedCount = takePlace.mock.calls.length
    connection.socket.resume()
    const answers = await connection.untilAnswered(LARGE_FILES)
    connection.socket.destroy()
    takePlace.mockRestore()

    // The buffers hold some answers.
    expect(servedCount).toBeLessThan(LARGE_FILES - 8)
    expect(new Set(statusesOf(answers))).toEqual(new Set([200]))
  })

  test.each([
    [
      'the rate of a tenant',
      { RATE_LIMIT_WRITES: '5', RATE_LIMIT_WINDOW_SECONDS: '3600' },
      5,
      'rate-limited',
    ],
    ['uncompleted operations', { MAX_ACTIVE_KEYS: '5' }, 5, 'too-many-active-keys'],
  ])('do not bypass the limit on %s', async (_what, settings, most, type) => {
    const { url, server } = await api.serve(settings)
    const connection = await sendRaw(url, paymentsBytes(tenant, 20))
    const answers = await connection.untilAnswered(20)
    connection.socket.destroy()
    await until(async () => (await connectionsOf(server)) === 0)

    const statuses = Array.from({ length: 20 }, (_, index) => (index < most ? 202 : 429))
    expect(statusesOf(answers)).toEqual(statuses)
    expect(answers.at(-1)?.json['type']).toBe(`/problems/${type}`)
    expect(await keysOf()).toHaveLength(most)
  })

  test('occupy one place together', async () => {
    const { url } = await api.serve({ MAX_CONCURRENT_REQUESTS: '1' })
    const connection = await sendRaw(url, paymentsBytes(tenant, 20))
    const answers = await connection.untilAnswered(20)
    connection.socket.destroy()

    expect(new Set(statusesOf(answers))).toEqual(new Set([202]))
    expect(await keysOf()).toHaveLength(20)
  })
})
