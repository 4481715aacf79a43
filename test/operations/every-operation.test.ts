// Tests the guarantees of the engine and of the API for each operation that a client begins, from
// each of its recovery points. The operations come from src/operations/index.ts; each on an existing
// payment has a fixture in its folder.
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
import type { CallName } from '../../src/provider/calls.ts'
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
import { creation } from './create-payment/fixture.ts'
import { fixtures, type FixtureOfOperation } from './fixture.ts'
import { captured, held, snapshot } from './made-payments.ts'

type Row = FixtureOfOperation | typeof creation

const CHARGE = ['payment_intent.create', 'payment_intent.capture']

/** What the provider has executed for the payment once the operation is done. */
function executedBy({ startsWith, executed }: Row): string[] {
  if (startsWith === 'nothing') return CHARGE
  const before = startsWith === 'held' ? CHARGE.slice(0, 1) : CHARGE
  return executed === undefined ? before : [...before, executed]
}

let api: AdminApi
let t: TestEngine

beforeAll(async () => {
  api = await startAdminApi()
  t = api.t
})
// Includes unknown operations of other tests, so that each test resolves only its own operation.
beforeEach(() => t.engine.store.sql`update idempotency_keys set next_check_at = null`)
afterEach(async () => {
  await t.provider.control('POST', '/reset')
  await expectLedgerBalanced(t.engine.store)
  await expectNoStatusRepeated(t.engine.store)
})
afterAll(() => api.stop())

const run = (ref: OperationRef, engine = t.engine) => runOperation(engine, ref)

const executedOf = async (kind: string) =>
  (await t.provider.executed()).filter((entry) => entry.kind === kind)

const tenant = () => ({ id: t.tenantId, apiKey: t.apiKey })

const routeOf = (operation: string) =>
  operationEndpoints.find((candidate) => candidate.operation.name === operation)

const startOf = ({ startsWith }: Row) => (startsWith === 'held' ? held(t) : captured(t))

const accepted = async (row: Row): Promise<Accepted & { refundId?: string }> =>
  row === creation ? t.accept() : t.begin(row.operation, await startOf(row), row.body)

/** The status of what the operation changes: of the refund, or else of the payment. */
const statusOf = async (ref: Accepted & { refundId?: string }) =>
  ref.refundId === undefined
    ? (await t.readPayment(ref)).status
    : (await t.readRefund({ refundId: ref.refundId })).status

/** Expects that the operation is completed: answered, recorded, announced, posted, and executed once. */
async function expectDone(row: Row, ref: Accepted): Promise<void> {
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
  if (row.executed !== undefined) expect(await executedOf(row.executed)).toHaveLength(1)
  // By our id of the payment in the metadata, by which the fault suite counts, too.
  expect((await t.executedFor(ref)).map(({ kind }) => kind)).toEqual(executedBy(row))
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

describe.each([creation, ...fixtures])('$operation', (row) => {
  const { operation, executed: kind, path } = row
  const phases = operations.find(({ name }) => name === operation)?.phases ?? {}
  // Of a creation those that each run goes through.
  const points = row === creation ? ['started', 'authorized'] : Object.keys(phases)
  const calls = points.flatMap((point) => phases[point]?.call ?? [])
  const route = routeOf(operation)

  test.each(points)(
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

  test.each(points)(
    'continues from %s when the acknowledgment of its commit is lost',
    async (point) => {
      const ref = await accepted(row)

      await runLosingCommit(t, ref, point)

      await expectDone(row, ref)
      expect(await t.readKey(ref)).toMatchObject({ lease_epoch: 1 })
    },
  )

  describe('through the API', () => {
    async function send(paymentId: string, body: unknown, key: string, to = route) {
      const target = (to?.path ?? '').replace(':id', showPaymentId(paymentId))
      return await post(api.url, tenant(), target, body, { key })
    }

    const startOfRequest = async () => (row === creation ? '' : (await startOf(row)).paymentId)

    test('replays the stored response byte for byte, in every resulting state', async () => {
      const paymentId = await startOfRequest()
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

    test('refuses the key for another payment, body or operation, in every state', async () => {
      const paymentId = await startOfRequest()
      const other = await startOfRequest()
      const key = randomUUID()
      await send(paymentId, row.body, key)
      const ref = await t.findOperation({ key })
      await run(ref)

      const misuses = []
      if (row !== creation) {
        misuses.push(await send(other, row.body, key))
        // Takes the body of each of the others.
        const sibling = operation === 'payment.capture' ? 'refund.create' : 'payment.capture'
        misuses.push(await send(paymentId, row.body, key, routeOf(sibling)))
      }
      if (row.otherBody !== undefined) misuses.push(await send(paymentId, row.otherBody, key))

      const reused = { status: 422, json: { type: '/problems/idempotency-key-reused' } }
      for (const misuse of misuses) {
        expect(misuse).toMatchObject(reused)
        expect(misuse.headers.has('idempotency-key-expires')).toBe(true)
      }
      expect(await send(paymentId, row.body, key)).toMatchObject({ status: row.status })
      await expectDone(row, ref)
    })

    if (row === creation) return
    test('refuses a payment in a state from which it does not start, and reserves no key', async () => {
      const declined = await t.accept({ paymentMethod: 'pm_card_chargeDeclined' })
      await run(declined)
      const key = randomUUID()

      const refused = await send(declined.paymentId, row.body, key)

      expect(refused).toMatchObject({ status: 409, json: { type: '/problems/invalid-state' } })
      await expect(t.findOperation({ key })).rejects.toThrow('there is no such operation')
    })
  })

  const statusBefore = row.startsWith === 'held' ? 'requires_capture' : 'succeeded'
  // What exists without the operation returns to its status.
  const failsAs = row.operation === 'refund.create' || row === creation ? 'failed' : statusBefore
  const [call] = calls
  if (call === undefined) return
  if (calls.some(isRead) || isRead(call) || kind === undefined || path === undefined) {
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
    if (row === creation) return
    expect(after).toMatchObject({ status: statusBefore, failure: null })
  })

  describe.each(calls)('by a stale owner whose call was %s', (staleCall) => {
    /** Runs until the call is answered, and goes on after `meanwhile`. */
    const runAround = (ref: Accepted, meanwhile: () => Promise<void>) =>
      run(
        ref,
        aroundCall(t.engine, staleCall as CallName, async (original) => {
          const outcome = await original()
          await meanwhile()
          return outcome
        }),
      )

    test('and that returns after its successor completed it writes nothing', async () => {
      const ref = await accepted(row)
      let finished = {}

      const stale = runAround(ref, async () => {
        await t.expireLease(ref)
        expect(await run(ref)).toBe('finished')
        finished = await snapshot(t, ref)
      })

      await expect(stale).rejects.toThrow()
      expect(await snapshot(t, ref)).toEqual(finished)
      await expectDone(row, ref)
    })

    test('and that returns while its successor works loses its lease and writes nothing', async () => {
      const ref = await accepted(row)
      let claimed = {}

      const stale = runAround(ref, async () => {
        // The successor crashes in its call: it owns the lease, and has recorded nothing.
        const { sql } = t.engine.store
        await sql`
          update idempotency_keys
          set lease_epoch = lease_epoch + 1, lease_expires_at = now() + interval '1 minute'
          where id = ${ref.id}
        `
        claimed = await snapshot(t, ref)
      })

      await expect(stale).rejects.toThrow(LeaseLostError)
      expect(await snapshot(t, ref)).toEqual(claimed)
    })
  })

  test('with an unknown outcome is resolved with the same provider key', async () => {
    const ref = await accepted(row)
    await t.provider.addFault({ match: { path }, fault: 'reset_after', times: 2 })

    expect(await run(ref)).toBe('finished')

    await expectDone(row, ref)
    expect(await t.readKey(ref)).toMatchObject({ attempts: 1 })
    expect(await executedOf(kind)).toMatchObject([{ idempotency_key: `atomic_${ref.id}_started` }])
  })

  test('with an unknown outcome after the last try is left to the outcome resolver', async () => {
    const ref = await accepted(row)

    await giveUp(t, ref, { path }, 'nonsense_body')

    const given = await snapshot(t, ref)
    expect(given.key).toMatchObject({ status: 'unknown', in_doubt: true })
    expect(await statusOf(ref)).toBe('unknown')
    expect(t.announced).toContain(ref.id)
    expect(await run(ref)).toBe('nothing_to_do')
    expect(await reopenOperation(t.engine, ref)).toBe(false)
    expect(await snapshot(t, ref)).toEqual(given)
    expect(await executedOf(kind)).toHaveLength(1)
  })

  test('that is proved not to have run is reopened by one of several retries, and runs once', async () => {
    const ref = await accepted(row)
    await giveUp(t, ref, { path })
    expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable', in_doubt: false })
    expect(await statusOf(ref)).toBe(failsAs)
    expect(await executedOf(kind)).toEqual([])

    const reopened = await Promise.all([1, 2, 3].map(() => reopenOperation(t.engine, ref)))

    expect(reopened.filter(Boolean)).toHaveLength(1)
    expect(await statusOf(ref)).toBe('processing')
    expect(await t.readKey(ref)).toMatchObject({ status: 'pending', attempts: 0 })
    expect(await run(ref)).toBe('finished')
    await expectDone(row, ref)
  })

  /** Lets an operator request the check that would be due later. */
  async function resolveNow(ref: Accepted): Promise<void> {
    const asked = await api.post(`/admin/operations/${shownId(ref)}/resume`)
    expect(asked.status).toBe(202)
    await resolveDue(t.engine)
  }

  test('is looked up and completed when its call was executed and every answer was lost', async () => {
    const ref = await accepted(row)
    await giveUp(t, ref, { path }, 'nonsense_body')
    await t.provider.control('DELETE', '/faults')

    await resolveNow(ref)

    await expectDone(row, ref)
  })

  test('is proved absent when its call was never executed, and runs at the next retry', async () => {
    const ref = await accepted(row)
    await giveUp(t, ref, { path }, 'unavailable')
    await t.provider.control('DELETE', '/faults')
    await t.letTimePass(ref, t.engine.settings.PROVIDER_SETTLE_SECONDS)

    await resolveNow(ref)

    expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable', in_doubt: false })
    expect(await executedOf(kind)).toEqual([])
    expect(await reopenOperation(t.engine, ref)).toBe(true)
    expect(await run(ref)).toBe('finished')
    await expectDone(row, ref)
  })

  if (row === creation) return
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
})
