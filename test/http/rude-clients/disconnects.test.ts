// Clients that disconnect at every point of a request.
import type { Socket } from 'node:net'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { paymentBody, postPayment } from '../../support/client.ts'
import { connectionsOf, paymentBytes, sendRaw, watchAccepted } from './raw-connection.ts'
import { until } from '../../support/until.ts'
import { serviceInProcess, tenantOf } from '../../support/for-file.ts'

/** The number of connections that are cut concurrently. */
const AT_A_TIME = 50

// If places were not released, none would be left after a few dozen connections.
const service = serviceInProcess({
  MAX_CONCURRENT_REQUESTS: String(AT_A_TIME + 10),
  HTTP_KEEP_ALIVE_SECONDS: '1',
})
const tenant = tenantOf(service)
let acceptedOf: ReturnType<typeof watchAccepted>
const faults: unknown[] = []

beforeAll(async () => {
  acceptedOf = watchAccepted(service.server)
  service.parts.log.error = (...line: unknown[]) => void faults.push(line)
})

/** How a client disconnects: it ends its side, or it resets the connection. */
const disconnects: [how: string, disconnect: (socket: Socket) => void][] = [
  ['ends it', (socket) => void socket.end()],
  ['resets it', (socket) => void socket.resetAndDestroy()],
]

describe.each(disconnects)('a connection whose client %s', (how, disconnect) => {
  const keyAt = (length: number) =>
    `${how}, ${String(length).padStart(4, '0')}`.replaceAll(' ', '-')
  const whole = () => paymentBytes(tenant, keyAt(0)).length

  /** Sends the first bytes of a payment, and disconnects when the server has read them. */
  const sendPart = async (length: number) => {
    const bytes = paymentBytes(tenant, keyAt(length)).slice(0, length)
    const connection = await sendRaw(service.apiUrl, bytes)
    const { socket } = connection
    // The server may refuse and close first, when the bytes cannot become a valid request any more.
    const isRead = () => acceptedOf(socket)?.bytesRead === length
    await until(() => isRead() || socket.closed)
    disconnect(socket)
    await connection.untilClosed()
  }

  test('after any byte of a payment except the last writes nothing', async () => {
    const before = await countRows()
    const lengths = Array.from({ length: whole() - 1 }, (_, index) => index + 1)
    while (lengths.length > 0) await Promise.all(lengths.splice(0, AT_A_TIME).map(sendPart))
    await untilAllAreGone()

    expect(await countRows()).toEqual(before)
    expect(faults).toEqual([])
    expect((await postPayment(service.apiUrl, tenant)).status).toBe(201)
  })

  test('after its payment is accepted still gets it executed, and a retry replays the result', async () => {
    const key = `${how}, accepted`.replaceAll(' ', '-')
    const connection = await sendRaw(service.apiUrl, paymentBytes(tenant, key))
    await until(async () => (await statusOf(key)) !== undefined)
    disconnect(connection.socket)
    await connection.untilClosed()
    await untilAllAreGone()
    await until(async () => (await statusOf(key)) === 'completed')
    const retry = await postPayment(service.apiUrl, tenant, paymentBody(), { key })

    expect(retry.status).toBe(201)
    expect(retry.headers.get('idempotent-replayed')).toBe('true')
    expect(await service.executedFor(retry.json)).toHaveLength(2)
    expect(faults).toEqual([])
  })

  test('after the last byte of a payment leads to exactly one payment after a retry', async () => {
    await sendPart(whole())
    await untilAllAreGone()
    const headers = { prefer: 'wait=20' }
    const key = keyAt(whole())
    const retry = await postPayment(service.apiUrl, tenant, paymentBody(), { key, headers })

    expect(retry.status).toBe(201)
    expect(await service.executedFor(retry.json)).toHaveLength(2)
    expect(await statusOf(key)).toBe('completed')
    expect(faults).toEqual([])
  })
})

async function untilAllAreGone(): Promise<void> {
  await until(async () => (await connectionsOf(service.server)) === 0)
  await until(() => service.parts.keyed.watch.waiting() === 0)
}

async function statusOf(key: string): Promise<string | undefined> {
  const [row] = await service.store.sql<{ status: string }[]>`
    select status from idempotency_keys where tenant_id = ${tenant.id} and key = ${key}
  `
  return row?.status
}

/** Counts the rows of every table. */
async function countRows(): Promise<Record<string, number>> {
  const { sql } = service.store
  const tables = await sql<{ schema: string; name: string }[]>`
    select table_schema as schema, table_name as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
      -- Written some time after the retries of earlier tests, which it counts.
      and table_name <> 'key_replays'
  `
  const counts: Record<string, number> = {}
  for (const { schema, name } of tables) {
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from ${sql(schema)}.${sql(name)}
    `
    counts[`${schema}.${name}`] = row?.count ?? 0
  }
  return counts
}
