// Clients that vanish without closing their connection.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { paymentBody, postPayment } from '../../support/client.ts'
import type { Tenant } from '../../support/service.ts'
import { lockTable } from './locked-keys.ts'
import {
  connectionsOf,
  lookupBytes,
  paymentBytes,
  requestBytes,
  sendRaw,
  watchAccepted,
  type RawConnection,
} from './raw-connection.ts'
import { until } from '../../support/until.ts'
import { serviceInProcess, tenantOf } from '../../support/for-file.ts'

const TIMEOUTS = { checkIntervalMs: 50, silenceMaxMs: 6_000 }
const SETTINGS = { WAIT_SECONDS: '1', WAIT_MAX_SECONDS: '1', HTTP_KEEP_ALIVE_SECONDS: '1' }

/**
 * The longest time limit, for a body and for the next request: constants in our code and in Node.
 */
const SLOWEST_MS = 5_000
/** The delay of a busy machine. */
const LATE_MAX_MS = 10_000

const KEY = 'paid-and-vanished'
const HALF_A_BODY = 'sends half of a body'

interface Vanished {
  readonly what: string
  readonly bytes: (tenant: Tenant) => string
  /** Whether the client still reads its answers. */
  readonly reads: boolean
  readonly statuses: readonly number[]
}

/** A payment without its body. */
function headOf(tenant: Tenant, headers: Record<string, string | undefined>): string {
  const bytes = paymentBytes(tenant, 'cut', { headers })
  return bytes.slice(0, bytes.indexOf('{'))
}

// prettier-ignore
const vanished: readonly Vanished[] = [
  { what: 'sends nothing', bytes: () => '', reads: true, statuses: [408] },
  { what: 'sends half of its headers', bytes: (tenant) => paymentBytes(tenant, 'cut').slice(0, 80), reads: true, statuses: [408] },
  { what: HALF_A_BODY, bytes: (tenant) => paymentBytes(tenant, 'cut').slice(0, -9), reads: true, statuses: [408] },
  { what: 'sends half of a chunk', bytes: (tenant) => `${headOf(tenant, { 'content-length': undefined, 'transfer-encoding': 'chunked' })}40\r\n{"amo`, reads: true, statuses: [408] },
  { what: 'gets 100 Continue and sends nothing', bytes: (tenant) => headOf(tenant, { expect: '100-continue' }), reads: true, statuses: [100, 408] },
  { what: 'has its answer', bytes: (tenant) => lookupBytes(tenant, '/v1/payments'), reads: true, statuses: [200] },
  { what: 'sends a payment and reads no answer', bytes: (tenant) => paymentBytes(tenant, KEY), reads: false, statuses: [] },
  { what: 'requests more than all buffers hold and reads nothing', bytes: () => requestBytes({ path: '/openapi.yaml' }).repeat(200), reads: false, statuses: [] },
]

/** Half of them are a tenant's. */
const places = { MAX_CONCURRENT_REQUESTS: String(2 * vanished.length) }
const service = serviceInProcess({ ...SETTINGS, ...places }, TIMEOUTS)
const tenant = tenantOf(service)

interface Opened {
  readonly connection: RawConnection
  readonly isGone: () => boolean
}

const opened = new Map<Vanished, Opened>()
let openedAtMs: number

beforeAll(async () => {
  const acceptedOf = watchAccepted(service.server)
  openedAtMs = performance.now()
  for (const client of vanished) {
    const connection = await sendRaw(service.apiUrl)
    if (!client.reads) connection.socket.pause()
    connection.socket.write(client.bytes(tenant))
    await until(() => acceptedOf(connection.socket) !== undefined)
    const accepted = acceptedOf(connection.socket)
    opened.set(client, { connection, isGone: () => accepted?.closed ?? true })
  }
})

afterAll(() => {
  for (const { connection } of opened.values()) connection.socket.destroy()
})

describe('a client that vanishes without closing its connection', () => {
  test.each(vanished)(
    'is disconnected when it $what',
    async (client) => {
      const { connection, isGone } = opened.get(client) as Opened
      await until(isGone)
      const answers = client.reads ? await connection.untilClosed() : connection.answers()

      expect(answers.map(({ status }) => status)).toEqual(client.statuses)
      if (client.what === HALF_A_BODY) {
        expect(performance.now() - openedAtMs).toBeGreaterThan(SLOWEST_MS - 100)
        expect(answers[0]?.headers['connection']).toBe('close')
      }
    },
    SLOWEST_MS + LATE_MAX_MS,
  )

  test('still gets its accepted payment executed, and a retry replays the result', async () => {
    const rows = await service.store.sql`select key from idempotency_keys`
    expect(rows).toEqual([{ key: KEY }])

    const retry = await postPayment(service.apiUrl, tenant, paymentBody(), { key: KEY })
    expect(retry.status).toBe(201)
    expect(retry.headers.get('idempotent-replayed')).toBe('true')
  })

  test('leaves no connection, no waiting request and no occupied place', async () => {
    await until(async () => (await connectionsOf(service.server)) === 0)
    const { locked, release } = await lockTable(service)
    const taking = jest.spyOn(service.parts.limits.slots, 'take')
    const paying = vanished.map(() => postPayment(service.apiUrl, tenant))
    await until(() => taking.mock.calls.length === vanished.length)
    release()
    await locked
    const answers = await Promise.all(paying)

    expect(answers.filter(({ status }) => status >= 400)).toEqual([])
    expect(service.parts.keyed.watch.waiting()).toBe(0)
  })
})
