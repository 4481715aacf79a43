import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { paymentBody, postPayment } from '../../support/client.ts'
import type { Tenant } from '../../support/service.ts'
import { startServiceInProcess, type ServiceInProcess } from '../../support/service-in-process.ts'
import { lockKeys } from './locked-keys.ts'
import {
  connectionsOf,
  lookupBytes,
  paymentBytes,
  requestBytes,
  sendRaw,
  until,
  watchAccepted,
  type RawConnection,
} from './raw-connection.ts'

const TIMEOUTS = { headersTimeoutMs: 300, checkIntervalMs: 50, silenceMaxMs: 6_000 }
const SETTINGS = { WAIT_SECONDS: '1', WAIT_MAX_SECONDS: '1' }

/** For a body, and for the next request: constants of ours, and of Node. */
const SLOWEST_MS = 5_000
/** Of a busy machine. */
const LATE_MAX_MS = 10_000

const KEY = 'paid-and-vanished'

interface Vanished {
  readonly what: string
  readonly bytes: (tenant: Tenant) => string
  /** Whether the client at least takes what is answered. */
  readonly takes: boolean
  readonly statuses: readonly number[]
}

/** A payment without its body. */
function headOf(tenant: Tenant, headers: Record<string, string | undefined>): string {
  const bytes = paymentBytes(tenant, 'cut', { headers })
  return bytes.slice(0, bytes.indexOf('{'))
}

// prettier-ignore
const vanished: readonly Vanished[] = [
  { what: 'says nothing', bytes: () => '', takes: true, statuses: [408] },
  { what: 'sends half of its headers', bytes: (tenant) => paymentBytes(tenant, 'cut').slice(0, 80), takes: true, statuses: [408] },
  { what: 'sends half of a body', bytes: (tenant) => paymentBytes(tenant, 'cut').slice(0, -9), takes: true, statuses: [408] },
  { what: 'sends half of a chunk', bytes: (tenant) => `${headOf(tenant, { 'content-length': undefined, 'transfer-encoding': 'chunked' })}40\r\n{"amo`, takes: true, statuses: [408] },
  { what: 'is told to go on, and does not', bytes: (tenant) => headOf(tenant, { expect: '100-continue' }), takes: true, statuses: [100, 408] },
  { what: 'has its answer', bytes: (tenant) => lookupBytes(tenant, '/v1/payments'), takes: true, statuses: [200] },
  { what: 'pays, and takes no answer', bytes: (tenant) => paymentBytes(tenant, KEY), takes: false, statuses: [] },
  { what: 'asks for more than the way holds, and takes nothing', bytes: () => requestBytes({ path: '/docs/swagger-ui-bundle.js' }).repeat(20), takes: false, statuses: [] },
]

let service: ServiceInProcess
let tenant: Tenant
interface Opened {
  readonly connection: RawConnection
  readonly isGone: () => boolean
}

const opened = new Map<Vanished, Opened>()

beforeAll(async () => {
  const places = { MAX_CONCURRENT_REQUESTS: String(vanished.length) }
  service = await startServiceInProcess({ ...SETTINGS, ...places }, TIMEOUTS)
  tenant = await service.createTenant({ basisPoints: 0, fixedMinor: 0 })
  const acceptedOf = watchAccepted(service.server)
  for (const client of vanished) {
    const connection = await sendRaw(service.apiUrl)
    if (!client.takes) connection.socket.pause()
    connection.socket.write(client.bytes(tenant))
    await until(() => acceptedOf(connection.socket) !== undefined)
    const accepted = acceptedOf(connection.socket)
    opened.set(client, { connection, isGone: () => accepted?.closed ?? true })
  }
})

afterAll(async () => {
  for (const { connection } of opened.values()) connection.socket.destroy()
  await service.stop()
})

describe('a client that vanishes without a word', () => {
  test.each(vanished)(
    'is let go when it $what',
    async (client) => {
      const { connection, isGone } = opened.get(client) as Opened
      await until(isGone)
      const answers = client.takes ? await connection.untilClosed() : connection.answers()

      expect(answers.map(({ status }) => status)).toEqual(client.statuses)
    },
    SLOWEST_MS + LATE_MAX_MS,
  )

  test('has its payment carried out if it was accepted, and can ask for it', async () => {
    const rows = await service.store.sql`select key from idempotency_keys`
    expect(rows).toEqual([{ key: KEY }])

    const retry = await postPayment(service.apiUrl, tenant, paymentBody(), { key: KEY })
    expect(retry.status).toBe(201)
    expect(retry.headers.get('idempotent-replayed')).toBe('true')
  })

  test('leaves nothing behind: no connection, nobody who waits, and every place free', async () => {
    await until(async () => (await connectionsOf(service.server)) === 0)
    const { locked, release } = await lockKeys(service)
    const taking = jest.spyOn(service.parts.limits.places, 'take')
    const paying = vanished.map(() => postPayment(service.apiUrl, tenant))
    await until(() => taking.mock.calls.length === vanished.length)
    release()
    await locked
    const answers = await Promise.all(paying)

    expect(answers.map(({ status }) => status)).not.toContain(503)
    expect(service.parts.watch.waiting()).toBe(0)
  })
})
