// Tests failovers to a synchronous standby under load, one after the other. No accepted payment is lost, and no customer is
// charged twice. Payments succeed again within seconds, also after the former primary comes back.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import { paymentBody, postPayment } from '../support/client.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { ReplicatedPostgres, type ReplicatedServer } from '../support/replicated-postgres.ts'
import {
  startService,
  type ExecutedCall,
  type OwnService,
  type Tenant,
} from '../support/service.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const CLIENTS = 4
/** The load before the failover, and after the former primary came back. */
const PAYMENTS = 2 * CLIENTS
const RETRY_MS = 50
/** An authorization and a capture. */
const CALLS = 2
const LIMIT_MS = 10_000

let postgres: ReplicatedPostgres
let service: OwnService
let tenant: Tenant
/** The id of each payment that succeeded. */
const paid: string[] = []

beforeAll(async () => {
  const folder = await makeTemporaryFolder()
  postgres = await ReplicatedPostgres.start({ folder, prepare: migrateDatabase })
  // The default, on which it depends how long a silent server is waited for.
  const settings = { STORE_TIMEOUT_MS: '5000', WAIT_SECONDS: '4' }
  service = await startService(settings, postgres.url('postgres'))
  tenant = await service.createTenant()
})
beforeEach(() => postgres.attachStandby())
afterAll(async () => {
  try {
    await service.stop()
  } finally {
    await postgres.stop()
  }
})

/** Pays, and retries with the same key until the payment succeeds. */
async function pay(): Promise<void> {
  const key = randomUUID()
  for (;;) {
    const { status, json } = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
    if (status === 201) {
      paid.push(String(json['id']))
      return
    }
    if (![202, 409, 503].includes(status)) throw new Error(await describeFailure(status))
    await delay(RETRY_MS)
  }
}

async function describeFailure(status: number): Promise<string> {
  const logged = await until(() => service.api.lines.find((line) => line.includes('"err"')))
  return `the API answered ${status}, and logged ${logged}`
}

/** Several clients pay until they are told to stop. */
async function payUntil(stop: AbortSignal): Promise<void> {
  const client = async () => {
    while (!stop.aborted) await pay()
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
}

const happenings: Record<string, (primary: ReplicatedServer) => Promise<void>> = {
  'is killed': (primary) => primary.kill(),
  'is cut off': async (primary) => primary.relay.cut(),
  freezes: (primary) => primary.freeze(),
  'is fenced': (primary) => primary.makeReadOnly(),
}

test.each(Object.entries(happenings))(
  'payments succeed within 10 s of the promotion, once each, when the primary %s',
  async (_, happen) => {
    const stop = new AbortController()
    const untilMore = async () => {
      const before = paid.length
      await until(() => paid.length >= before + PAYMENTS)
    }
    const paying = payUntil(stop.signal)
    await untilMore()

    await happen(postgres.primary)
    const former = await postgres.promote()
    const promotedAtMs = performance.now()
    await pay()
    const tookMs = performance.now() - promotedAtMs
    await former.thaw()
    former.relay.heal()
    await untilMore()
    stop.abort()
    await paying
    await former.stop()

    expect(tookMs).toBeLessThan(LIMIT_MS)
    const stored = await postgres.primary.sql<{ id: string }[]>`
      select id from payments where status = 'succeeded'
    `
    expect(stored).toHaveLength(paid.length)
    const { data: calls } = (await service.control('GET', 'executed')) as { data: ExecutedCall[] }
    const callsOf = Map.groupBy(calls, ({ metadata }) => metadata['atomic_payment'])
    expect(new Set(callsOf.keys())).toEqual(new Set(paid))
    for (const own of callsOf.values()) expect(own).toHaveLength(CALLS)
    await expectLedgerBalanced(service.store)
  },
)
