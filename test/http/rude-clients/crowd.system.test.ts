// A crowd of slow clients must not block other clients, and must be disconnected.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { get, postPayment } from '../../support/client.ts'
import type { Tenant } from '../../support/service.ts'
import { startServiceInProcess, type ServiceInProcess } from '../../support/service-in-process.ts'
import {
  connectionsOf,
  lookupBytes,
  paymentBytes,
  sendRaw,
  type RawConnection,
} from './raw-connection.ts'
import { until } from '../../support/until.ts'

interface Slow {
  readonly count: number
  /** The bytes that each client sends at once. It repeats `dripped` at an interval. */
  readonly atOnce: (tenant: Tenant, number: number) => string
  readonly dripped: string
  readonly reads: boolean
}

/** A thousand clients. Those that send a body are more than there are places. */
const crowd: readonly Slow[] = [
  { count: 300, atOnce: () => '', dripped: '', reads: true },
  {
    count: 300,
    atOnce: (tenant, number) => paymentBytes(tenant, `slow-${number}`).slice(0, 100),
    dripped: 'a',
    reads: true,
  },
  {
    count: 100,
    atOnce: (tenant) => lookupBytes(tenant, '/v1/payments?limit=100').repeat(10),
    dripped: '',
    reads: false,
  },
  {
    count: 300,
    atOnce: (tenant, number) =>
      paymentBytes(tenant, `slow-${number}`, { headers: { 'content-length': 1_000 }, body: '{' }),
    dripped: ' ',
    reads: true,
  },
]

const PLACES = 200
const TIMEOUTS = { checkIntervalMs: 100, silenceMaxMs: 30_000 }
const DRIP_MS = 1_000
const HEALTHY = 20
/** A thousand connections take a while to open on a machine that also runs other tests. */
const LIMIT_MS = 120_000

let service: ServiceInProcess
let tenant: Tenant
const slow: { connection: RawConnection; kind: Slow }[] = []

beforeAll(async () => {
  service = await startServiceInProcess(
    { MAX_CONCURRENT_REQUESTS: String(PLACES), HTTP_KEEP_ALIVE_SECONDS: '1' },
    TIMEOUTS,
  )
  const fees = { basisPoints: 0, fixedMinor: 0 }
  tenant = await service.createTenant(fees)
  const rude = await service.createTenant(fees)
  for (const kind of crowd) {
    const opened = Array.from({ length: kind.count }, async (_, number) => {
      const connection = await sendRaw(service.apiUrl)
      if (!kind.reads) connection.socket.pause()
      connection.socket.write(kind.atOnce(rude, number))
      slow.push({ connection, kind })
    })
    await Promise.all(opened)
  }
}, LIMIT_MS)

afterAll(async () => {
  for (const { connection } of slow) connection.socket.destroy()
  await service.stop()
})

test(
  'a thousand slow clients block no other client, and are all disconnected',
  async () => {
    const dripping = setInterval(() => {
      for (const { connection, kind } of slow) connection.socket.write(kind.dripped)
    }, DRIP_MS)
    const payments = await Promise.all(
      Array.from({ length: HEALTHY }, () => postPayment(service.apiUrl, tenant)),
    )
    const lookups = await Promise.all(
      payments.map(({ json }) => get(service.apiUrl, tenant, `/v1/payments/${String(json['id'])}`)),
    )
    await until(async () => (await connectionsOf(service.server)) === 0)
    clearInterval(dripping)
    for (const { connection } of slow) connection.socket.resume()
    const answers = await Promise.all(slow.map(({ connection }) => connection.untilClosed()))

    expect(slow).toHaveLength(1_000)
    expect(payments.map(({ status }) => status)).toEqual(payments.map(() => 201))
    expect(lookups.map(({ status }) => status)).toEqual(payments.map(() => 200))
    const statuses = new Set(
      answers.flatMap((answersOfOne) => answersOfOne.map(({ status }) => status)),
    )
    expect(statuses).toContain(408)
    // An answer that was not read may be lost with its connection. A tenant that sends so much may
    // also exceed its share of the places.
    expect([200, 408, 429, 503]).toEqual(expect.arrayContaining([...statuses]))
    const beyond = answers.flat().filter(({ status }) => status === 429)
    for (const { json } of beyond)
      expect(json['type']).toBe('/problems/too-many-concurrent-requests')
    expect(await service.store.sql`select from idempotency_keys`).toHaveLength(HEALTHY)
    expect(service.parts.keyed.watch.waiting()).toBe(0)
  },
  LIMIT_MS,
)
