// Tests the reaper as a whole: the effects and counts of its rounds, and what it leaves alone.
import { beforeEach, expect, test } from '@jest/globals'
import { giveBackIfOwner } from '../../src/db/operations/leases.ts'
import { showId } from '../../src/domain/resource-id.ts'
import { reap, type ReaperSettings } from '../../src/recovery/reaper.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { claimOrThrow } from '../db/reservations.ts'
import type { Accepted } from '../support/engine.ts'
import { ageTombstones, expireKeys } from '../support/expired-keys.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { eventsOf, postingsOf } from '../support/records.ts'
import { t } from '../support/own-engine.ts'

const settings: ReaperSettings = {
  KEY_RETENTION_SECONDS: 86_400,
  TOMBSTONE_RETENTION_SECONDS: 7 * 86_400,
  REAP_BATCH_SIZE: 2,
  IDEMPOTENCY_FLAVOR: 'ietf',
}
const nothing = {
  reaped: 0,
  timed_out: 0,
  overtaken: 0,
  abandoned: 0,
  tombstones_deleted: 0,
}

beforeEach(async () => {
  await t.engine.store.sql`delete from idempotency_keys`
  await t.engine.store.sql`delete from key_tombstones`
})

const round = () => reap(t.engine, settings)

async function finished(): Promise<Accepted> {
  const ref = await t.accept()
  await runOperation(t.engine, ref)
  return ref
}

/** An operation that was given up, with proof that nothing happened since this recovery point. */
async function givenUpAt(recoveryPoint: 'started' | 'authorized'): Promise<Accepted> {
  const ref = await t.accept()
  const { sql } = t.engine.store
  const claim = await claimOrThrow(sql, ref)
  const to = { status: 'failed_retryable', inDoubt: false, reason: 'refused' } as const
  await sql.begin((tx) => giveBackIfOwner(tx, claim, { ...to, checkDelaysSeconds: [5] }))
  await sql`update idempotency_keys set recovery_point = ${recoveryPoint} where id = ${ref.id}`
  return ref
}

const findings = async () =>
  await t.engine.store.sql`
    select kind, object_id, status, payment_id, ours from reconciliation_findings
    order by opened_at, id
  `

test('deletes keys in batches, and their tombstones after their own retention', async () => {
  for (let count = 0; count < 5; count += 1) await finished()
  await expireKeys(t.engine.store.sql)

  const first = await round()
  const tooEarly = await round()
  await ageTombstones(t.engine.store.sql, 8 * 24)
  const second = await round()

  expect(first).toEqual({ ...nothing, reaped: 5 })
  expect(tooEarly).toEqual(nothing)
  expect(second).toEqual({ ...nothing, tombstones_deleted: 5 })
})

test('does not change the payment, its ledger, its events or its timeline', async () => {
  const ref = await finished()
  const { store } = t.engine
  const id = showId('pay', ref.paymentId)
  const records = async () => ({
    payment: await t.readPayment(ref),
    postings: await postingsOf(store, id),
    events: await eventsOf(store, id),
    timeline: await store.sql`select * from phase_runs where payment_id = ${ref.paymentId}`,
  })
  const before = await records()
  await expireKeys(store.sql)

  expect((await round()).reaped).toBe(1)

  expect(await t.readKey(ref)).toEqual({})
  expect(await records()).toEqual(before)
  expect(before.postings.length).toBeGreaterThan(0)
  await expectLedgerBalanced(store)
})

test('counts each key once with several concurrent reapers', async () => {
  for (let count = 0; count < 9; count += 1) await finished()
  await expireKeys(t.engine.store.sql)

  const rounds = await Promise.all([round(), round(), round()])

  const sum = (counts: (number | undefined)[]) => counts.reduce((all = 0, one = 0) => all + one, 0)
  expect(sum(rounds.map(({ reaped }) => reaped))).toBe(9)
})

test('gives an operation without any effect a final answer, and reaps it like others', async () => {
  const ref = await givenUpAt('started')
  const before = await t.readPayment(ref)
  await expireKeys(t.engine.store.sql)

  expect(await round()).toEqual({ ...nothing, timed_out: 1 })
  expect(await t.readKey(ref)).toMatchObject({ status: 'completed', response_status: 408 })
  expect(await t.readPayment(ref)).toEqual(before)
  expect(await round()).toEqual(nothing)

  await expireKeys(t.engine.store.sql)
  expect(await round()).toEqual({ ...nothing, reaped: 1 })
})

test('keeps a partly executed operation, and opens one finding for it', async () => {
  const ref = await givenUpAt('authorized')
  await expireKeys(t.engine.store.sql)

  expect(await round()).toEqual({ ...nothing, abandoned: 1 })
  expect(await round()).toEqual(nothing)
  await expireKeys(t.engine.store.sql)
  expect(await round()).toEqual({ ...nothing, abandoned: 1 })

  expect(await findings()).toEqual([
    {
      kind: 'operation_abandoned',
      object_id: showId('op', ref.id),
      status: 'open',
      payment_id: ref.paymentId,
      ours: { operation: 'payment.create', recovery_point: 'authorized', reason: 'refused' },
    },
  ])
  expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable' })
})
