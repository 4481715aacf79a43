// Operators see every operation that is not completed, and can resume it.
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { randomUUIDv7 } from 'node:crypto'
import { operationViews } from '../../../src/http/operators/operations-search.ts'
import { showPaymentId } from '../../../src/domain/payments/payment.ts'
import { showId } from '../../../src/domain/resource-id.ts'
import { resolveDue } from '../../../src/recovery/outcome-resolver.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import {
  makeAbandoned,
  makeCompleted,
  makeFailed,
  makeUnknown,
  runUnderFault,
  shownId,
} from '../../support/admin.ts'
import { get } from '../../support/client.ts'
import type { Accepted } from '../../support/engine.ts'
import { adminApi } from '../../support/for-file.ts'
import { expectLedgerBalanced } from '../../support/ledger.ts'
import { deliverOf, disputed } from '../../operations/follow-dispute/disputes.ts'
import { applyAll } from '../../operations/follow-payment/provider-events.ts'
import { captured } from '../../operations/made-payments.ts'
import { expectProblem } from '../payments.ts'

const api = adminApi()

afterEach(() => expectLedgerBalanced(api.t.engine.store))

/** An operation whose job is lost. */
async function makeJobless(): Promise<Accepted> {
  const ref = await api.t.accept()
  await api.t.engine.store.sql`delete from atomic_jobs.job where data ->> 'operationId' = ${ref.id}`
  return ref
}

async function makeLeased(): Promise<Accepted> {
  const ref = await makeAbandoned(api)
  await api.t.engine.store.sql`
    update idempotency_keys set lease_expires_at = now() + interval '1 hour' where id = ${ref.id}
  `
  return ref
}

/** An unknown operation that is not looked up any more. */
async function makeGivenUp(): Promise<Accepted> {
  const ref = await makeUnknown(api)
  await api.t.engine.store.sql`
    update idempotency_keys set next_check_at = null where id = ${ref.id}
  `
  return ref
}

/** A failed operation whose payment has another end. */
async function makeOvertaken(): Promise<Accepted> {
  const ref = await makeFailed(api)
  await api.t.engine.store.sql`
    update payments set previous_status = 'processing', status = 'declined',
      failure_code = 'x', failure_message = 'x'
    where id = ${ref.paymentId}
  `
  return ref
}

/** One operator has proposed a resolution that needs two. */
async function makeProposed(): Promise<Accepted> {
  const ref = await makeUnknown(api)
  const proposed = { outcome: 'did_not_happen', proof: 'not in the dashboard', unverified: true }
  expect((await api.post(`${path(ref)}/resolve`, proposed)).status).toBe(202)
  return ref
}

async function makeResolved(): Promise<Accepted> {
  const ref = await makeUnknown(api)
  await api.post(`${path(ref)}/resume`)
  await resolveDue(api.t.engine)
  return ref
}

const path = (ref: Accepted) => `/admin/operations/${shownId(ref)}`

// prettier-ignore
const states: [title: string, make: () => Promise<Accepted>, views: string[], would: string][] = [
  ['an unknown outcome', () => makeUnknown(api), ['unknown'], 'look_up'],
  ['an unknown outcome that is not looked up any more', makeGivenUp, ['unknown', 'dead'], 'look_up'],
  ['a failed operation', () => makeFailed(api), ['failed_retryable', 'dead'], 'reopen'],
  ['a pending operation', () => api.t.accept(), ['pending'], 'nothing'],
  ['a pending operation whose job is lost', makeJobless, ['pending', 'stuck'], 'run'],
  ['an operation with an owner', makeLeased, ['processing'], 'nothing'],
  ['an operation whose owner died', () => makeAbandoned(api), ['processing', 'stuck'], 'repeat_call'],
  ['a completed operation', () => makeCompleted(api), [], 'nothing'],
  ['an unknown outcome with a proposal that waits for a second operator', makeProposed, ['unknown', 'proposed'], 'look_up'],
  ['an operation whose unknown outcome was found', makeResolved, ['resolved'], 'nothing'],
]

test.each(states)(
  '%s is listed under exactly its statuses, with what a resume would do',
  async (...row) => {
    const [, make, views, would] = row
    const ref = await make()
    const isListed = async (query: string) => {
      const { json } = await api.get(`/admin/operations?limit=100${query}`)
      return (json['data'] as { id: string }[]).some(({ id }) => id === shownId(ref))
    }
    const listed: string[] = []
    for (const name of operationViews) if (await isListed(`&status=${name}`)) listed.push(name)

    expect(listed).toEqual(views)
    expect(await isListed('')).toBe(views.some((view) => view !== 'resolved'))
    expect(await api.get(path(ref))).toMatchObject({
      status: 200,
      json: {
        object: 'operation',
        id: shownId(ref),
        tenant: showId('tnt', ref.tenantId),
        idempotency_key: ref.id,
        operation: 'payment.create',
        payment: showPaymentId(ref.paymentId),
        refund: null,
        resume_would: would,
      },
    })
  },
)

test('an operation has its timeline and its finding', async () => {
  const ref = await makeGivenUp()
  await api.t.letTimePass(ref, 2 * 86_400)
  await resolveDue(api.t.engine)

  const { json } = await api.get(path(ref))

  expect(json).toMatchObject({
    status: 'unknown',
    recovery_point: 'started',
    attempts: 1,
    lease_epoch: 1,
    in_doubt: true,
    last_error: expect.stringMatching(/./),
    next_check_at: null,
    finding: { id: expect.stringMatching(/^fnd_/), kind: 'outcome_unknown' },
    timeline: [
      { object: 'phase_run', phase: null, recovery_point: 'started' },
      { phase: 'started', provider: { outcome: 'unknown' } },
      { phase: 'started', provider: { outcome: 'unknown' } },
      { phase: 'started', provider: { outcome: 'unknown' } },
    ],
  })
})

test('the timeline tells a call from a look, with amount and currency', async () => {
  const payment = await captured(api.t)
  const ref = await api.t.acceptRefund(payment, 500)
  await runUnderFault(api, ref, 'nonsense_body')
  await api.t.letTimePass(ref, 5)
  await resolveDue(api.t.engine)
  const about = { amount: 500, currency: 'usd' }

  const ofOperator = await api.get(path(ref))
  const tenant = { id: ref.tenantId, apiKey: api.t.apiKey }
  const timeline = `/v1/payments/${showPaymentId(payment.paymentId)}/timeline`
  const ofTenant = await get(api.url, tenant, timeline)

  const expected = [
    { provider: null },
    ...[1, 2, 3].map(() => ({
      recovery_point: null,
      provider: { kind: 'call', ...about, outcome: 'unknown' },
    })),
    { provider: { kind: 'look', ...about, outcome: 'done', asked: { call: 'refunds.list' } } },
  ]
  expect(ofOperator.json).toMatchObject({ timeline: expected })
  expect((ofTenant.json['data'] as object[]).slice(-expected.length)).toMatchObject(expected)
})

describe('operations are found by', () => {
  let payment: Accepted
  let refund: Accepted & { refundId: string }
  let unknown: Accepted
  const listed = async (query: string) => {
    const { json } = await api.get(`/admin/operations?limit=100&${query}`)
    return (json['data'] as { id: string }[]).map(({ id }) => id)
  }

  beforeAll(async () => {
    payment = await makeCompleted(api)
    refund = await api.t.acceptRefund(payment, 500)
    await runOperation(api.t.engine, refund)
    unknown = await makeUnknown(api)
  })

  test('the payment, also the completed ones', async () => {
    const query = `payment=${showPaymentId(payment.paymentId)}`

    expect(await listed(query)).toEqual([shownId(refund), shownId(payment)])
    expect(await listed(`${query}&status=unknown`)).toEqual([])
    expect(await listed(`payment=${showPaymentId(unknown.paymentId)}&status=unknown`)).toEqual([
      shownId(unknown),
    ])
  })

  test('the idempotency key', async () => {
    expect(await listed(`idempotency_key=${payment.id}`)).toEqual([shownId(payment)])
    expect(await listed('idempotency_key=never-used')).toEqual([])
  })

  test('the provider’s id of the payment, or of the refund', async () => {
    const { providerPaymentId } = await api.t.readPayment(payment)
    const { providerRefundId } = await api.t.readRefund(refund)

    expect(await listed(`provider_id=${providerPaymentId}`)).toEqual([
      shownId(refund),
      shownId(payment),
    ])
    expect(await listed(`provider_id=${providerRefundId}`)).toEqual([shownId(refund)])
    expect(await listed('provider_id=pi_unknown')).toEqual([])
  })

  test('the provider’s id of the dispute', async () => {
    const dispute = await disputed(api.t)
    expect(await applyAll(api.t, [await deliverOf(api.t, dispute)])).toEqual(['applied'])
    const following = await api.t.engine.store.sql<{ id: string }[]>`
      select id from idempotency_keys
      where payment_id = ${dispute.payment.paymentId} and operation = 'dispute.follow'
    `

    expect(await listed(`provider_id=${dispute.objectId}`)).toEqual(following.map(shownId))
    expect(following).toHaveLength(1)
    expect(await listed('provider_id=du_unknown')).toEqual([])
    expect(await listed('provider_id=dp_1NXyZ2CZ6qsJgndJ')).toEqual([])
  })

  test('the tenant, beside any other filter', async () => {
    const tenant = showId('tnt', unknown.tenantId)
    const other = showId('tnt', randomUUIDv7())

    expect(await listed(`tenant=${tenant}`)).toContain(shownId(unknown))
    expect(await listed(`tenant=${tenant}`)).not.toContain(shownId(payment))
    expect(await listed(`tenant=${other}`)).toEqual([])
    expect(await listed(`tenant=${tenant}&idempotency_key=${payment.id}`)).toEqual([
      shownId(payment),
    ])
    expect(await listed(`tenant=${other}&idempotency_key=${payment.id}`)).toEqual([])
  })

  test('the UUID, and the audit trail names the id that the API shows', async () => {
    const byUuid = await api.get(`/admin/operations/${unknown.id}`)
    await api.post(`/admin/operations/${unknown.id}/resume`)

    expect(byUuid).toMatchObject({ status: 200, json: { id: shownId(unknown) } })
    expect(await api.trailOf(shownId(unknown))).toMatchObject([{ action: 'operation.resume' }])
  })
})

test('the list is newest first, and goes on after an operation that is completed meanwhile', async () => {
  const older = await makeFailed(api)
  const newest = await api.get('/admin/operations?status=failed_retryable&limit=1')
  const newer = await makeCompleted(api)

  const next = await api.get(
    `/admin/operations?status=failed_retryable&limit=1&starting_after=${shownId(newer)}`,
  )

  for (const { json } of [newest, next]) {
    expect(json).toMatchObject({ has_more: true, data: [{ id: shownId(older) }] })
  }
})

describe('a resume', () => {
  test('looks up an unknown outcome at once, and the operation gets the real outcome', async () => {
    const ref = await makeGivenUp()

    const answer = await api.post(`${path(ref)}/resume`)
    await resolveDue(api.t.engine)

    expect(answer).toMatchObject({ status: 202, json: { status: 'unknown' } })
    expect(answer.json['next_check_at']).not.toBeNull()
    expect(await api.t.readKey(ref)).toMatchObject({ status: 'completed', response_status: 201 })
    const executed = await api.t.executedFor(ref)
    expect(executed.filter(({ kind }) => kind === 'payment_intent.create')).toHaveLength(1)
    expect(await api.trailOf(shownId(ref))).toEqual([
      {
        actor: 'alice',
        action: 'operation.resume',
        details: { result: 'check_asked', from: 'unknown' },
      },
    ])
  })

  test('runs a failed operation once, and a second resume has nothing to do', async () => {
    const ref = await makeFailed(api)

    const answer = await api.post(`${path(ref)}/resume`)
    const again = await api.post(`${path(ref)}/resume`, undefined, 'bob')
    await runOperation(api.t.engine, ref)

    expect(answer).toMatchObject({ status: 202, json: { status: 'pending' } })
    expectProblem(again, 'nothing-to-resume')
    expect(await api.t.readPayment(ref)).toMatchObject({ status: 'succeeded' })
    expect(await api.trailOf(shownId(ref))).toEqual([
      {
        actor: 'alice',
        action: 'operation.resume',
        details: { result: 'reopened', from: 'failed_retryable' },
      },
      { actor: 'bob', action: 'operation.resume', details: { refused: 'nothing-to-resume' } },
    ])
  })

  test.each([
    ['whose owner died', () => makeAbandoned(api), 'processing'],
    ['whose job is lost', makeJobless, 'pending'],
  ])('gives an operation %s a new job', async (_, make, from) => {
    const ref = await make()
    const before = await jobsOf(ref)

    const answer = await api.post(`${path(ref)}/resume`)

    expect(answer).toMatchObject({
      status: 202,
      json: { status: 'pending', resume_would: 'nothing' },
    })
    expect(await jobsOf(ref)).toBe(before + 1)
    expect(await runOperation(api.t.engine, ref)).toBe('finished')
    expect(await api.trailOf(shownId(ref))).toMatchObject([
      { details: { result: 'requeued', from } },
    ])
  })

  test('of an operation whose provider key may be forgotten repeats no call', async () => {
    const ref = await makeAbandoned(api)
    await api.t.letTimePass(ref, 30 * 3_600)
    expect((await api.get(path(ref))).json).toMatchObject({ resume_would: 'park' })

    const answer = await api.post(`${path(ref)}/resume`)

    expect(answer).toMatchObject({
      status: 202,
      json: { status: 'pending', resume_would: 'nothing' },
    })
    expect(await runOperation(api.t.engine, ref)).toBe('gave_up')
    expect(await api.t.readKey(ref)).toMatchObject({ status: 'unknown' })
    expect(await api.t.executedFor(ref)).toEqual([])
  })

  test.each([
    ['is completed', () => makeCompleted(api)],
    ['has an owner', makeLeased],
    ['waits for its job', () => api.t.accept()],
    ['has a payment that has changed', makeOvertaken],
  ])('returns nothing-to-resume for an operation that %s, and changes nothing', async (_, make) => {
    const ref = await make()
    const before = await api.t.readKey(ref)

    const answer = await api.post(`${path(ref)}/resume`)

    expectProblem(answer, 'nothing-to-resume')
    expect(await api.t.readKey(ref)).toEqual(before)
  })
})

const jobsOf = async ({ id }: Accepted): Promise<number> => {
  const { count } = await api.t.engine.store.sql`
    select from atomic_jobs.job where name = 'operations' and data ->> 'operationId' = ${id}
  `
  return count
}

test('a tenant sees nothing of the actions of operators', async () => {
  const ref = await makeUnknown(api)
  await api.post(`${path(ref)}/resume`)
  const tenant = { id: ref.tenantId, apiKey: api.t.apiKey }

  const answers = await Promise.all(
    [`idempotency-keys/${ref.id}`, `payments/${showPaymentId(ref.paymentId)}`, 'events'].map(
      (name) => get(api.url, tenant, `/v1/${name}`),
    ),
  )

  for (const { status, text } of answers) {
    expect(status).toBe(200)
    expect(text).not.toMatch(/alice|operator|op_/)
  }
})
