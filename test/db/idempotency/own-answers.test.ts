// Tests that a row of another request is never an answer. A relay changes what the server sends, as a
// pooler does that mixes up answers.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Sql, Store } from '../../../src/db/connection/client.ts'
import { SessionError } from '../../../src/db/connection/pool/session.ts'
import { findEach, findIdle } from '../../../src/db/idempotency/idempotency-keys.ts'
import { doOnce } from '../../../src/db/idempotency/local-operations.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { makeTenant, openTestStore, reservationOf, reserve, response } from '../reservations.ts'

/** Of the same length, so that the messages of the server keep theirs. */
const [KEY, OTHER_KEY] = ['key-of-this-request', 'key-of-that-request']

let database: TestDatabase
let relay: Server
let store: Store
let tenantId: string
/** Replaces the first text by the second one in what the server sends. */
let mixUp: readonly [string, string] | undefined

beforeAll(async () => {
  database = await createTestDatabase()
  const upstreamPort = Number(new URL(database.url).port)
  relay = createServer((client) => {
    const upstream = connect(upstreamPort, '127.0.0.1')
    client.on('error', () => {}).pipe(upstream)
    upstream
      .on('error', () => {})
      .on('data', (bytes: Buffer) => {
        const [from, to] = mixUp ?? ['', '']
        client.write(Buffer.from(bytes.toString('latin1').replaceAll(from, to), 'latin1'))
      })
    upstream.on('close', () => client.destroy())
    client.on('close', () => upstream.destroy())
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const { port } = relay.address() as AddressInfo
  store = openTestStore(Object.assign(new URL(database.url), { port: String(port) }).href, 2)
  tenantId = await makeTenant(store)
})

afterAll(async () => {
  await store.close()
  relay.close()
  await database.drop()
})

async function backendOf({ sql }: Store): Promise<unknown> {
  return (await sql`select pg_backend_pid() as pid`)[0]?.['pid']
}

const FINISHED = reservationOf('', { key: KEY })
const LOCAL = {
  ...reservationOf('', { key: 'local-key-of-this-request' }),
  operation: 'webhook_endpoint.create',
  paymentId: undefined,
  expiredKeys: 'new',
} as const
const OTHER_ID = '0191a7c2-6f3e-7cc0-9f5e-1b2d3c4e5f60'

const CASES: [string, string, string, (sql: Sql) => Promise<unknown>][] = [
  [
    'a reservation: another key',
    KEY,
    OTHER_KEY,
    (sql) => reserve(sql, reservationOf(tenantId, { key: KEY })),
  ],
  ['a look-up: another key', KEY, OTHER_KEY, (sql) => findEach(sql, [{ tenantId, key: KEY }])],
  [
    'a look-up: another operation',
    LOCAL.id,
    OTHER_ID,
    (sql) => findIdle(sql, [{ tenantId, id: LOCAL.id }]),
  ],
  [
    'a local operation: another key',
    LOCAL.key,
    'local-key-of-that-request',
    (sql) => doOnce(sql, { ...LOCAL, tenantId }, async () => response),
  ],
]

test.each(CASES)('%s is no answer, and ends the connections', async (_, from, to, ask) => {
  await doOnce(store.sql, { ...LOCAL, tenantId }, async () => response)
  await reserve(store.sql, { ...FINISHED, tenantId })
  const before = await backendOf(store)

  mixUp = [from, to]
  await expect(ask(store.sql)).rejects.toThrow(SessionError)
  mixUp = undefined

  expect(await backendOf(store)).not.toBe(before)
  expect(await ask(store.sql)).not.toEqual([])
})
