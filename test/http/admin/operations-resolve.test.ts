// How operators resolve unknown outcomes: a lookup at the provider judges what they claim.
import { afterEach, describe, expect, test } from '@jest/globals'
import { resolveDue } from '../../../src/recovery/outcome-resolver.ts'
import { reopenOperation } from '../../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { captured } from '../../operations/made-payments.ts'
import {
  makeFailed,
  makeUnknown,
  OPERATORS,
  operatorsOf,
  runUnderFault,
  shownId,
  whileLookedUp,
  type AdminApi,
} from '../../support/admin.ts'
import type { Accepted } from '../../support/engine.ts'
import { expectLedgerBalanced } from '../../support/ledger.ts'
import { until } from '../../support/until.ts'
import { expectProblem } from '../payments.ts'
import { adminApi } from '../../support/for-file.ts'

const path = (ref: Accepted) => `/admin/operations/${shownId(ref)}/resolve`

const proof = { outcome: 'did_not_happen', proof: 'the provider has no such payment: ticket 4711' }

const executedOf = async ({ t }: AdminApi, kind: string, ref: Accepted) =>
  (await t.executedFor(ref)).filter((call) => call.kind === kind)

describe('by one operator', () => {
  const api = adminApi()

  afterEach(() => expectLedgerBalanced(api.t.engine.store))

  test('an operation that happened is looked up by the evidence and completed', async () => {
    const ref = await makeUnknown(api)
    const [providerObject] = await executedOf(api, 'payment_intent.create', ref)
    const body = { outcome: 'happened', provider_id: providerObject?.id, note: 'seen there' }

    const answer = await api.post(path(ref), body)
    const evidence = (await api.t.readKey(ref))['evidence']
    await resolveDue(api.t.engine)

    expect(answer).toMatchObject({ status: 202, json: { id: shownId(ref), status: 'unknown' } })
    expect(evidence).toEqual({
      claim: expect.stringMatching(/^act_/),
      provider_payment_id: providerObject?.id,
      by: 'alice',
      note: 'seen there',
    })
    expect(await api.t.readKey(ref)).toMatchObject({ status: 'completed', response_status: 201 })
    expect(await executedOf(api, 'payment_intent.create', ref)).toHaveLength(1)
    const { json } = await api.get(`/admin/actions?subject=${shownId(ref)}&actor=alice`)
    const [{ id: claim } = { id: '' }] = json['data'] as { id: string }[]
    expect(await api.trailOf(shownId(ref))).toEqual([
      {
        actor: 'alice',
        action: 'operation.resolve',
        details: { result: 'claimed', claim, resolution: body, proposed_by: null },
      },
      {
        actor: 'reconciler',
        action: 'operation.resolve.verdict',
        details: {
          claim,
          claimed_by: 'alice',
          verdict: 'verified',
          taken: true,
          shown: 'it happened',
          effect:
            'The lookup verified the claim. The operation went on with what the provider shows.',
          found: expect.objectContaining({ payment_id: providerObject?.id }),
        },
      },
    ])
  })

  test('a refund is resolved by the id of the refund', async () => {
    const payment = await captured(api.t)
    const ref = await api.t.acceptRefund(payment)
    await runUnderFault(api, ref, 'nonsense_body')
    const [providerObject] = await executedOf(api, 'refund.create', ref)
    const wrong = { outcome: 'happened', provider_id: 'pi_1', note: 'the payment, not the refund' }

    const refused = await api.post(path(ref), wrong)
    const accepted = await api.post(path(ref), { ...wrong, provider_id: providerObject?.id })
    await resolveDue(api.t.engine)

    // Nor a payment by that of a refund.
    const other = await api.post(path(await makeUnknown(api)), { ...wrong, provider_id: 're_1' })
    for (const answer of [refused, other]) expectProblem(answer, 'invalid-field')
    expect(refused.json['errors']).toMatchObject([{ pointer: '/provider_id' }])
    expect(accepted.status).toBe(202)
    expect(await api.t.readRefund(ref)).toMatchObject({ status: 'succeeded' })
  })

  test('an operation that did not happen runs again at the client’s retry', async () => {
    const ref = await api.t.accept()
    await runUnderFault(api, ref, 'unavailable')

    const answer = await api.post(path(ref), proof)
    await resolveDue(api.t.engine)
    const again = await api.post(path(ref), proof, 'bob')

    expect(answer).toMatchObject({ status: 202, json: { status: 'unknown' } })
    expect(await api.t.readKey(ref)).toMatchObject({
      status: 'failed_retryable',
      last_error: 'not found, and did not happen according to alice',
    })
    expectProblem(again, 'operation-not-unknown')
    expect(await api.t.readPayment(ref)).toMatchObject({ status: 'failed' })
    expect(await api.trailOf(shownId(ref))).toMatchObject([
      {
        actor: 'alice',
        action: 'operation.resolve',
        details: { result: 'claimed', resolution: proof, proposed_by: null },
      },
      { actor: 'reconciler', details: { verdict: 'verified', taken: true } },
      { actor: 'bob', action: 'operation.resolve', details: { refused: 'operation-not-unknown' } },
    ])
    await reopenOperation(api.t.engine, ref)
    expect(await runOperation(api.t.engine, ref)).toBe('finished')
    expect(await executedOf(api, 'payment_intent.create', ref)).toHaveLength(1)
  })

  // The corpus of `verify/fuzz` has a completed one.
  test('an operation that has failed cannot be resolved', async () => {
    const ref = await makeFailed(api)
    const before = await api.t.readKey(ref)

    expectProblem(await api.post(path(ref), proof), 'operation-not-unknown')
    expect(await api.t.readKey(ref)).toEqual(before)
  })
})

describe('the verdict', () => {
  const api = adminApi({ WAIT_MAX_SECONDS: '60' })

  afterEach(() => api.t.provider.control('DELETE', '/faults'))

  afterEach(() => expectLedgerBalanced(api.t.engine.store))

  const unverified = { ...proof, unverified: true }

  test('is a problem when the id belongs to another payment, and what is found is recorded', async () => {
    const other = await api.t.readPayment(await captured(api.t))
    const ref = await makeUnknown(api)
    const { providerPaymentId } = other
    const body = { outcome: 'happened', provider_id: providerPaymentId, note: 'I think so' }

    const answer = await whileLookedUp(api, api.post(path(ref), body))

    expectProblem(answer, 'resolution-contradicted')
    expect(answer.json['detail']).toContain('it happened')
    expect(await api.t.readKey(ref)).toMatchObject({ status: 'completed', response_status: 201 })
    expect((await api.t.readPayment(ref)).providerPaymentId).not.toBe(providerPaymentId)
  })

  test('refuses an unverified claim past the key window, also from the second operator', async () => {
    const ref = await makeUnknown(api)
    await api.post(path(ref), unverified)
    await api.t.letTimePass(ref, 23 * 3_600)

    expectProblem(await api.post(path(ref), unverified, 'bob'), 'key-window-passed')
    expectProblem(await api.post(path(ref), unverified), 'key-window-passed')
    expect(await api.t.readKey(ref)).toMatchObject({ status: 'unknown', evidence: null })
  })

  test('refuses an unverified claim when there is only one operator', async () => {
    const ref = await makeUnknown(api)
    const viewer = 'vera:viewer=adm_vera_0123456789abcdef01234'
    const url = await api.serve({ ADMIN_API_KEY: `alice=${OPERATORS.alice},${viewer}` })
    const answer = await operatorsOf(url).post(path(ref), unverified)

    expectProblem(answer, 'second-operator-needed')
    expect(answer.json['detail']).toBe('ADMIN_API_KEY has only one operator, besides viewers.')
  })

  test('is a problem when the service found the outcome without the claim', async () => {
    const ref = await makeUnknown(api)
    const answering = api.post(path(ref), proof)
    await until(async () => (await api.t.readKey(ref))['evidence'] !== null)
    await api.t.engine.store.sql`update idempotency_keys set evidence = null where id = ${ref.id}`

    await resolveDue(api.t.engine)

    expectProblem(await answering, 'operation-not-unknown')
    expect(await api.trailOf(shownId(ref))).toMatchObject([
      { action: 'operation.resolve', details: { result: 'claimed' } },
      { action: 'operation.resolve', details: { refused: 'operation-not-unknown' } },
    ])
  })

  test('is shown by the operation when the lookup took longer than the request', async () => {
    const ref = await makeUnknown(api)
    const url = await api.serve({})

    const answer = await operatorsOf(url).post(path(ref), proof)
    await resolveDue(api.t.engine)

    expect(answer).toMatchObject({ status: 202, json: { resolution: { verdict: null } } })
    expect((await api.get(`/admin/operations/${shownId(ref)}`)).json).toMatchObject({
      resolution: { verdict: 'contradicted', taken: false, shown: 'it happened' },
    })
  })
})

describe('under dual control', () => {
  const api = adminApi({ ADMIN_DUAL_CONTROL: 'true' })

  afterEach(() => api.t.provider.control('DELETE', '/faults'))

  /** The proposals of the operation, on its own and in the list. They are the same. */
  async function proposalOf(ref: Accepted): Promise<unknown> {
    const { json } = await api.get(`/admin/operations/${shownId(ref)}`)
    const list = (await api.get('/admin/operations?limit=100')).json['data'] as { id: string }[]
    const listed = list.find(({ id }) => id === shownId(ref))
    if (listed !== undefined) expect(listed).toMatchObject({ proposal: json['proposal'] })
    return json['proposal']
  }

  const waiting = async (): Promise<number> =>
    ((await api.get('/admin/operations?status=proposed')).json['data'] as unknown[]).length

  test('a proposal waits a day for a second operator, and is counted', async () => {
    const ref = await makeUnknown(api)
    const before = await waiting()
    expect(await proposalOf(ref)).toBeNull()
    await api.post(path(ref), { ...proof, proof: 'a proof that alice replaced later' })
    await api.post(path(ref), proof)

    const proposal = (await proposalOf(ref)) as Record<string, string>
    expect(proposal).toMatchObject({ proposed_by: 'alice', proposed: proof })
    const { proposed_at: at = '', expires_at: end = '' } = proposal
    expect(Date.parse(end) - Date.parse(at)).toBe(24 * 3_600_000)
    await until(async () => (await api.get('/admin/overview')).json['proposed'] === before + 1)
    expect(await waiting()).toBe(before + 1)
  })

  test('a confirmed proposal waits again when the lookup fails, and no longer when it was made', async () => {
    // Those of other tests may become due meanwhile.
    await api.t.engine.store.sql`update idempotency_keys set next_check_at = null`
    const ref = await makeUnknown(api)
    const before = await waiting()
    await api.post(path(ref), proof)
    await api.post(path(ref), proof, 'bob')
    expect(await proposalOf(ref)).toBeNull()
    expect(await waiting()).toBe(before)

    const match = { method: 'GET', path: '/v1/payment_intents' }
    await api.t.provider.addFault({ match, fault: 'hang_before', times: 99 })
    await resolveDue(api.t.engine)
    expect(await api.t.readKey(ref)).toMatchObject({ status: 'unknown', evidence: null })
    expect(await proposalOf(ref)).toMatchObject({ proposed_by: 'alice', proposed: proof })

    await api.t.provider.control('DELETE', '/faults')
    expect(await api.post(path(ref), proof, 'bob')).toMatchObject({ json: { object: 'operation' } })
    await resolveDue(api.t.engine)
    expect(await api.t.readKey(ref)).toMatchObject({ status: 'completed' })
    expect(await proposalOf(ref)).toBeNull()
    expect(await waiting()).toBe(before)
  })

  test('the first operator proposes, and the second applies it by the same request', async () => {
    const ref = await makeUnknown(api)

    const proposed = await api.post(path(ref), proof)
    const done = await api.post(path(ref), proof, 'bob')
    const evidence = (await api.t.readKey(ref))['evidence']

    expect(proposed).toMatchObject({
      status: 202,
      json: { object: 'resolution_proposal', operation: shownId(ref), proposed_by: 'alice' },
    })
    expect(proposed.text).toContain('Another operator must send the same body')
    expect(done).toMatchObject({ status: 202, json: { status: 'unknown' } })
    expect(evidence).toEqual({
      claim: expect.stringMatching(/^act_/),
      proved_absent: true,
      by: 'alice and bob',
      note: proof.proof,
    })
    expect(await api.trailOf(shownId(ref))).toEqual([
      {
        actor: 'alice',
        action: 'operation.resolve.propose',
        details: { result: 'proposed', proposed: proof },
      },
      {
        actor: 'bob',
        action: 'operation.resolve',
        details: {
          result: 'claimed',
          claim: expect.stringMatching(/^act_/),
          resolution: proof,
          proposed_by: 'alice',
        },
      },
    ])
  })

  test('a different body replaces the proposal', async () => {
    const ref = await makeUnknown(api)
    const other = { ...proof, proof: `${proof.proof}, and more` }
    await api.post(path(ref), proof)

    expect((await api.post(path(ref), other, 'bob')).status).toBe(202)
    expect(await api.t.readKey(ref)).toMatchObject({ status: 'unknown' })
    expect((await api.post(path(ref), proof, 'bob')).status).toBe(202)
    expect(await api.t.readKey(ref)).toMatchObject({ status: 'unknown' })
    expect((await api.post(path(ref), proof)).status).toBe(202)
    expect(await api.t.readKey(ref)).toMatchObject({ evidence: { by: 'bob and alice' } })
  })

  test.each([
    ['after a day', "happened_at - interval '24 hours 1 minute'"],
    ['from before the outcome was unknown', "happened_at - interval '1 hour'"],
  ])('a proposal %s is not valid any more', async (_, then) => {
    const ref = await makeUnknown(api)
    const before = await waiting()
    await api.post(path(ref), proof)
    const { sql } = api.t.engine.store
    await sql.unsafe(
      `update admin_actions set happened_at = ${then} where subject = '${shownId(ref)}'`,
    )
    expect(await proposalOf(ref)).toBeNull()
    expect(await waiting()).toBe(before)

    expect((await api.post(path(ref), proof, 'bob')).json).toMatchObject({ proposed_by: 'bob' })
    expect(await api.t.readKey(ref)).toMatchObject({ status: 'unknown' })
  })

  test('a resume needs only one operator', async () => {
    const ref = await makeUnknown(api)
    expect((await api.post(`/admin/operations/${shownId(ref)}/resume`)).status).toBe(202)
  })
})
