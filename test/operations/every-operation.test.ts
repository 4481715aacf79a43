// Tests the guarantees of the engine and of the API for each operation on an existing payment, from
// each of its recovery points. The operations come from src/operations/index.ts; each has a fixture
// in its folder.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { announcedEvents } from '../../src/domain/events/event-types.ts'
import { columnOf } from '../../src/db/connection/rows.ts'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import { showPaymentId } from '../../src/domain/payments/payment.ts'
import { LeaseLostError } from '../../src/engine/lease.ts'
import { reopenOperation } from '../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { operationEndpoints, operations } from '../../src/operations/index.ts'
import { createStripeProvider } from '../../src/provider/stripe/stripe-provider.ts'
import { isRead } from '../../src/engine/phase-call.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { shownId, startAdminApi, type AdminApi } from '../support/admin.ts'
import { get, post } from '../support/client.ts'
import {
  aroundCall,
  dieAt,
  giveUp,
  runLosingCommit,
  withoutRetries,
  withProvider,
} from '../support/engine-doubles.ts'
import type { Accepted, TestEngine } from '../support/engine.ts'
import { expectNoStatusRepeated } from '../support/events.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { postingsOf } from '../support/records.ts'
import { fixtures, type FixtureOfOperation } from './fixture.ts'
import { captured, held, snapshot } from './made-payments.ts'

let api: AdminApi
let t: TestEngine

beforeAll(async () => {
  api = await startAdminApi()
  t = api.t
})

// Includes unknown operations of other tests, so that each test resolves only its own operation.
beforeEach(() => t.engine.store.sql`update idempotency_keys set next_check_at = null`)

afterEach(() => t.provider.control('POST', '/reset'))

afterEach(() => expectLedgerBalanced(t.engine.store))

afterEach(() => expectNoStatusRepeated(t.engine.store))

afterAll(() => api.stop())

const run = (ref: OperationRef, engine = t.engine) => runOperation(engine, ref)

const executedOf = async (kind: string) =>
  (await t.provider.executed()).filter((entry) => entry.kind === kind)

const tenant = () => ({ id: t.tenantId, apiKey: t.apiKey })

const startOf = ({ startsWith }: FixtureOfOperation) =>
  startsWith === 'held' ? held(t) : captured(t)

const accepted = async (row: FixtureOfOperation) =>
  t.begin(row.operation, await startOf(row), row.body)

/** Expects that the operation is completed: answered, recorded, announced, posted, and executed once. */
async function expectDone(row: FixtureOfOperation, ref: Accepted): Promise<void> {
  const key = await t.readKey(ref)
  expect(key).toMatchObject({
    status: 'completed',
    recovery_point: 'finished',
    response_status: row.status,
    lease_expires_at: null,
  })
  const payment = await t.readPayment(ref)
  expect(payment).toMatchObject(row.payment)
  for (const member of row.stores ?? []) expect(payment).toHaveProperty(member, expect.anything())
  // What it answers is what it has stored.
  const { location = '' } = key['response_headers'] as { location?: string }
  expect(JSON.parse(String(key['response_body']))).toEqual(
    (await get(api.url, tenant(), location)).json,
  )
  if (row.executed !== undefined) {
    // The fault suite counts by our id of the payment.
    const metadata = { atomic_payment: showPaymentId(ref.paymentId) }
    expect(await executedOf(row.executed)).toMatchObject([{ metadata }])
  }
  const announced = await announcedBy(ref)
  expect(announced.map(({ type }) => type)).toEqual(row.announces ?? [])
  for (const { object } of announced) {
    for (const member of row.stores ?? []) {
      expect(object[columnOf(member)]).toEqual(expect.anything())
    }
  }
  const postings = await postingsOf(t.engine.store, showPaymentId(ref.paymentId))
  expect(postings).toHaveLength(row.postings)
}

/** The events of its own that an operation has announced. */
async function announcedBy(ref: Accepted) {
  const { key } = await t.readKey(ref)
  return await t.engine.store.sql<{ type: string; object: Record<string, unknown> }[]>`
    select type, object from events
    where idempotency_key = ${String(key)} and type = any(${[...announcedEvents]})
  `
}

describe.each(fixtures)('$operation', (row) => {
  const { operation, executed: kind, path } = row
  const phases = operations.find(({ name }) => name === operation)?.phases ?? {}
  const route = operationEndpoints.find((candidate) => candidate.operation.name === operation)

  test.each(Object.keys(phases))(
    'continues from %s after its owner crashed before it recorded anything',
    async (point) => {
      const ref = await accepted(row)
      await dieAt(t, ref, point)
      expect(await t.readKey(ref)).toMatchObject({ status: 'processing', recovery_point: point })
      expect(await run(ref)).toBe('leased')
      await t.expireLease(ref)

      expect(await run(ref)).toBe('finished')

      await expectDone(row, ref)
      expect(await t.readKey(ref)).toMatchObject({ lease_epoch: 2, attempts: 2 })
    },
  )

  test.each(Object.keys(phases))(
    'continues from %s when the acknowledgment of its commit is lost',
    async (point) => {
      const ref = await accepted(row)

      await runLosingCommit(t, ref, point)

      await expectDone(row, ref)
    },
  )

  describe('through the API', () => {
    async function send(paymentId: string, body: unknown, key: string) {
      const target = (route?.path ?? '').replace(':id', showPaymentId(paymentId))
      return await post(api.url, tenant(), target, body, { key })
    }

    test('replays the stored response byte for byte, in every resulting state', async () => {
      const { paymentId } = await startOf(row)
      const key = randomUUID()

      const first = await send(paymentId, row.body, key)
      const meanwhile = await send(paymentId, row.body, key)
      const ref = await t.findOperation({ key })
      expect(await run(ref)).toBe('finished')
      const replays = [await send(paymentId, row.body, key), await send(paymentId, row.body, key)]

      expect(first.status).toBe(202)
      expect(meanwhile).toMatchObject({
        status: 409,
        json: { type: '/problems/operation-in-progress' },
      })
      for (const replay of replays) {
        expect(replay.status).toBe(row.status)
        expect(replay.headers.get('idempotent-replayed')).toBe('true')
        expect(replay.text).toBe(replays[0]?.text)
      }
      await expectDone(row, ref)
    })

    test('refuses the key for another payment or body, even if the state would refuse that, too', async () => {
      const { paymentId } = await startOf(row)
      const other = await startOf(row)
      const key = randomUUID()
      await send(paymentId, row.body, key)
      const ref = await t.findOperation({ key })
      await run(ref)

      const misuses = [await send(other.paymentId, row.body, key)]
      if (row.otherBody !== undefined) misuses.push(await send(paymentId, row.otherBody, key))

      for (const misuse of misuses)
        expect(misuse).toMatchObject({
          status: 422,
          json: { type: '/problems/idempotency-key-reused' },
        })
      await expectDone(row, ref)
    })

    test('refuses a payment in a state from which it does not start, and reserves no key', async () => {
      const declined = await t.accept({ paymentMethod: 'pm_card_chargeDeclined' })
      await run(declined)
      const key = randomUUID()

      const refused = await send(declined.paymentId, row.body, key)

      expect(refused).toMatchObject({ status: 409, json: { type: '/problems/invalid-state' } })
      await expect(t.findOperation({ key })).rejects.toThrow('there is no such operation')
    })
  })

  if (Object.values(phases).every((phase) => phase.call === undefined)) return
  const call = phases['started']?.call
  if (call === undefined || isRead(call) || kind === undefined || path === undefined) {
    throw new Error(`${operation} calls nothing first, or its fixture does not name the call`)
  }

  test('that the provider declines is a 402 that its contract names, and stores and announces nothing', async () => {
    const ref = await accepted(row)
    const before = await t.readPayment(ref)
    const failure = { code: 'refused', declineCode: null, message: 'No.' }
    const declined = { outcome: 'declined', failure, providerPaymentId: null } as const
    const declining = aroundCall(t.engine, call, () =>
      Promise.resolve({ ...declined, asked: { call }, answered: { status: 400 } }),
    )

    expect(await run(ref, declining)).toBe('finished')

    const key = await t.readKey(ref)
    expect(key).toMatchObject({ status: 'completed', response_status: 402 })
    const { type } = JSON.parse(String(key['response_body'])) as { type: string }
    expect(route?.contract.problems?.map((name) => `/problems/${name}`)).toContain(type)
    const after = await t.readPayment(ref)
    for (const member of row.stores ?? []) expect(after[member]).toEqual(before[member])
    expect(await announcedBy(ref)).toEqual([])
  })

  // Stripe answers 404 `resource_missing`. That is not a decline.
  test('waits while the secret key is of another account, and runs with the right one', async () => {
    const ref = await accepted(row)
    const provider = createStripeProvider({
      secretKey: 'sk_test_acctother_0001',
      apiBase: t.provider.url,
      timeoutMs: t.engine.settings.PROVIDER_TIMEOUT_MS,
    })

    expect(await run(ref, withoutRetries(withProvider(t.engine, provider)))).toBe('gave_up')

    expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable', in_doubt: false })
    expect(await executedOf(kind)).toEqual([])
    expect(await reopenOperation(t.engine, ref)).toBe(true)
    expect(await run(ref)).toBe('finished')
    await expectDone(row, ref)
  })

  test('by a stale owner that returns after its successor completed it writes nothing', async () => {
    const ref = await accepted(row)
    let finished = {}
    const engine = aroundCall(t.engine, call, async (original) => {
      const outcome = await original()
      await t.expireLease(ref)
      expect(await run(ref)).toBe('finished')
      finished = await snapshot(t, ref)
      return outcome
    })

    await expect(run(ref, engine)).rejects.toThrow()

    expect(await snapshot(t, ref)).toEqual(finished)
    await expectDone(row, ref)
  })

  test('by a stale owner that returns while its successor works loses its lease and writes nothing', async () => {
    const ref = await accepted(row)
    let claimed = {}
    const engine = aroundCall(t.engine, call, async (original) => {
      const outcome = await original()
      // The successor crashes in its call: it owns the lease, and has recorded nothing.
      const { sql } = t.engine.store
      await sql`
        update idempotency_keys
        set lease_epoch = lease_epoch + 1, lease_expires_at = now() + interval '1 minute'
        where id = ${ref.id}
      `
      claimed = await snapshot(t, ref)
      return outcome
    })

    await expect(run(ref, engine)).rejects.toThrow(LeaseLostError)
    expect(await snapshot(t, ref)).toEqual(claimed)
  })

  test('with an unknown outcome is resolved with the same provider key', async () => {
    const ref = await accepted(row)
    await t.provider.addFault({ match: { path }, fault: 'reset_after', times: 2 })

    expect(await run(ref)).toBe('finished')

    await expectDone(row, ref)
    expect(await executedOf(kind)).toMatchObject([{ idempotency_key: `atomic_${ref.id}_started` }])
  })

  test('with an unknown outcome after the last try is left to the outcome resolver', async () => {
    const ref = await accepted(row)

    await giveUp(t, ref, { path }, 'nonsense_body')

    const given = await snapshot(t, ref)
    expect(given.key).toMatchObject({ status: 'unknown', in_doubt: true })
    expect(await run(ref)).toBe('nothing_to_do')
    expect(await reopenOperation(t.engine, ref)).toBe(false)
    expect(await snapshot(t, ref)).toEqual(given)
    expect(await executedOf(kind)).toHaveLength(1)
  })

  test('that is proved not to have run is reopened by one of several retries, and runs once', async () => {
    const ref = await accepted(row)
    await giveUp(t, ref, { path })
    expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable', in_doubt: false })
    expect(await executedOf(kind)).toEqual([])

    const reopened = await Promise.all([1, 2, 3].map(() => reopenOperation(t.engine, ref)))

    expect(reopened.filter(Boolean)).toHaveLength(1)
    expect(await run(ref)).toBe('finished')
    await expectDone(row, ref)
  })

  /** Runs it with the fault in each of its calls, without retries. */
  async function runWithFault(ref: Accepted, fault: string): Promise<void> {
    await giveUp(t, ref, { path }, fault)
    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
    await t.provider.control('DELETE', '/faults')
  }

  /** Lets an operator request the check that would be due later. */
  async function resolveNow(ref: Accepted): Promise<void> {
    const asked = await api.post(`/admin/operations/${shownId(ref)}/resume`)
    expect(asked.status).toBe(202)
    await resolveDue(t.engine)
  }

  test('is looked up and completed when its call was executed and every answer was lost', async () => {
    const ref = await accepted(row)
    await runWithFault(ref, 'nonsense_body')

    await resolveNow(ref)

    await expectDone(row, ref)
  })

  test('is proved absent when its call was never executed, and runs at the next retry', async () => {
    const ref = await accepted(row)
    await runWithFault(ref, 'unavailable')
    await t.letTimePass(ref, t.engine.settings.PROVIDER_SETTLE_SECONDS)

    await resolveNow(ref)

    expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable', in_doubt: false })
    expect(await executedOf(kind)).toEqual([])
    expect(await reopenOperation(t.engine, ref)).toBe(true)
    expect(await run(ref)).toBe('finished')
    await expectDone(row, ref)
  })
})
