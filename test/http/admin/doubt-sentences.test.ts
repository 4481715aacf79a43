// What the API and the terminal say about a doubt is what happens, before and after each claim.
import { afterEach, describe, expect, test } from '@jest/globals'
import { showPaymentId } from '../../../src/domain/payments/payment.ts'
import type { components } from '../../../client/operators-schema.ts'
import { atomic } from '../../cli/atomic.ts'
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
import type { ApiResponse } from '../../support/client.ts'
import type { Accepted } from '../../support/engine.ts'
import { expectProblem } from '../payments.ts'
import { adminApi } from '../../support/for-file.ts'

const dual = adminApi({ ADMIN_DUAL_CONTROL: 'true', WAIT_MAX_SECONDS: '60' })
const single = adminApi({ WAIT_MAX_SECONDS: '60' })

afterEach(async () => {
  for (const { t } of [dual, single]) await t.provider.control('DELETE', '/faults')
})

type LookUp = 'found' | 'absent' | 'unanswered'
type ClaimName = 'happened' | 'did not happen' | 'did not happen, unverified'

interface Expected {
  /** What is said before, for this answer of the lookup. */
  readonly before: RegExp
  /** What is said afterwards. */
  readonly after: RegExp
  /** What is true afterwards. */
  readonly status: 'completed' | 'unknown' | 'failed_retryable'
  readonly verdict: 'verified' | 'contradicted' | 'unverifiable'
  readonly taken: boolean
}

const NOTHING = {
  before: /^The claim is not acted on, and the outcome stays unknown\./,
  after: /^No lookup was answered\. The claim was not acted on, and the outcome stayed unknown\.$/,
  status: 'unknown',
  verdict: 'unverifiable',
  taken: false,
} as const

const CONTRADICTED = {
  before: /^The payment is recorded, and the claim is not acted on\.$/,
  after:
    /^The lookup contradicted the claim\. What the provider shows was recorded, and the claim was not acted on\.$/,
  status: 'completed',
  verdict: 'contradicted',
  taken: false,
} as const

const RETRY = {
  before: /^The client may retry, and then the card may be charged\.$/,
  after:
    /^The lookup found nothing, and the claim took effect\. The client may retry\. That is no proof that the call was not executed\./,
  status: 'failed_retryable',
  verdict: 'verified',
  taken: true,
} as const

const CASES: Record<ClaimName, Record<LookUp, Expected>> = {
  happened: {
    found: {
      before: /^If it is the payment with this id, the operation goes on with it\./,
      after:
        /^The lookup verified the claim\. The operation went on with what the provider shows\.$/,
      status: 'completed',
      verdict: 'verified',
      taken: true,
    },
    absent: {
      before:
        /^The claim is not acted on\. The outcome stays unknown, unless the lookup itself proves/,
      after:
        /^The lookup found nothing, which proved nothing yet\. The claim was not acted on, and the outcome stayed unknown\.$/,
      status: 'unknown',
      verdict: 'contradicted',
      taken: false,
    },
    unanswered: NOTHING,
  },
  'did not happen': { found: CONTRADICTED, absent: RETRY, unanswered: NOTHING },
  'did not happen, unverified': {
    found: CONTRADICTED,
    absent: RETRY,
    unanswered: {
      before:
        /^The claim takes effect all the same: the client may retry, and then the card may be charged, although nothing shows that it did not happen\./,
      after:
        /^No lookup was answered, and the claim took effect all the same\. The client may retry\. That is no proof/,
      status: 'failed_retryable',
      verdict: 'unverifiable',
      taken: true,
    },
  },
}

const proof = { outcome: 'did_not_happen', proof: 'the provider has no such payment: ticket 4711' }

type Schemas = components['schemas']
type Operation = Schemas['OperationWithTimeline']

async function makeDoubt(api: AdminApi, lookUp: LookUp): Promise<Accepted> {
  // The outcomes of other tests are looked up no more.
  await api.t.engine.store.sql`update idempotency_keys set next_check_at = null`
  if (lookUp !== 'absent') return await makeUnknown(api)
  const ref = await api.t.accept()
  await runUnderFault(api, ref, 'unavailable')
  return ref
}

async function bodyOf(api: AdminApi, claim: ClaimName, { paymentId }: Accepted): Promise<object> {
  if (claim !== 'happened') {
    return claim === 'did not happen' ? proof : { ...proof, unverified: true }
  }
  const [charge] = await api.t.executedFor({ paymentId })
  return { outcome: 'happened', provider_id: charge?.id ?? 'pi_never_made', note: 'seen there' }
}

async function readOperation(api: AdminApi, ref: Accepted, operator: 'alice' | 'bob' = 'alice') {
  const { text } = await api.get(`/admin/operations/${shownId(ref)}`, operator)
  return JSON.parse(text) as Operation
}

/** Sends the claim that counts, and lets a worker look while it waits. */
const claimAndLook = (api: AdminApi, ref: Accepted, body: object, operator: 'alice' | 'bob') =>
  whileLookedUp(api, api.post(`/admin/operations/${shownId(ref)}/resolve`, body, operator))

async function explain(api: AdminApi, ref: Accepted): Promise<string> {
  const { stdout } = await atomic(api.url, ['explain', shownId(ref)])
  return stdout.replaceAll(/\s+/g, ' ')
}

const loseLookUps = (api: AdminApi) =>
  api.t.provider.addFault({ match: { method: 'GET' }, fault: 'unavailable', times: 99 })

/** What is said and what is true afterwards, wherever it is said. */
async function expectAfter(
  api: AdminApi,
  ref: Accepted,
  answer: ApiResponse,
  { after, status, verdict, taken }: Expected,
  lookUp: LookUp,
) {
  const operation = await readOperation(api, ref)
  expect(operation).toMatchObject({ status, resolution: { verdict, taken } })
  const effect = operation.resolution?.effect ?? ''
  expect(effect).toMatch(after)
  const said = taken ? answer.json['resolution'] : answer.json['detail']
  expect(answer.status).toBe(taken ? 200 : 409)
  if (taken) expect(said).toMatchObject({ effect })
  else {
    expect(said).toContain(effect)
    const isContradicted = verdict === 'contradicted'
    expectProblem(answer, isContradicted ? 'resolution-contradicted' : 'resolution-unverifiable')
    expect(await api.t.readKey(ref)).toMatchObject({ evidence: null })
  }
  const calls = await api.t.executedFor(ref)
  expect(calls.filter(({ kind }) => kind === 'payment_intent.create').length).toBe(
    lookUp === 'absent' ? 0 : 1,
  )
  const trail = (await api.trailOf(shownId(ref))) as { action: string; details: object }[]
  expect(trail.find(({ action }) => action.endsWith('.verdict'))?.details).toMatchObject({ effect })

  const next =
    status === 'failed_retryable'
      ? /^It runs the current step again.* It is not proved that the call of the step was not executed\. It is repeated under the same provider key/
      : status === 'unknown'
        ? /^It looks up the outcome at the provider\./
        : /^Nothing: the operation is completed\.$/
  expect(operation.resume_effect).toMatch(next)
  expect(operation.in_doubt).toBe(status !== 'completed')
  const printed = await explain(api, ref)
  expect(printed).toContain(effect)
  if (status !== 'completed') expect(printed).toContain(operation.resume_effect)
  if (status === 'failed_retryable') {
    expect(printed).toContain('It is not proved that its call was not executed.')
  }
  const { text } = await api.get(`/admin/payments/${showPaymentId(ref.paymentId)}`)
  const { life } = JSON.parse(text) as Schemas['PaymentWithLife']
  expect(life.operations[0]).toMatchObject({ resume_effect: operation.resume_effect })
}

const table = Object.entries(CASES).flatMap(([claim, lookUps]) =>
  Object.entries(lookUps).map(([lookUp, expected]) => [claim, lookUp, expected] as const),
) as [ClaimName, LookUp, Expected][]

function findClaim({ claims }: Operation, claim: ClaimName) {
  const outcome = claim === 'happened' ? 'happened' : 'did_not_happen'
  const unverified = claim.endsWith('unverified')
  const found = claims?.find((one) => one.outcome === outcome && one.unverified === unverified)
  if (found === undefined) throw new Error(`nothing is said about a claim that it ${claim}`)
  return found
}

describe('a claim', () => {
  test.each(table)(
    'that it %s, lookup %s, needs two operators, who read what follows',
    async (claim, lookUp, expected) => {
      const ref = await makeDoubt(dual, lookUp)
      const body = await bodyOf(dual, claim, ref)
      const path = `/admin/operations/${shownId(ref)}/resolve`
      const { consequences, needs_second_operator: needsTwo } = findClaim(
        await readOperation(dual, ref),
        claim,
      )
      const isUnverified = claim.endsWith('unverified')
      expect(needsTwo).toBe(true)
      expect(consequences.refused).toBeNull()
      expect(consequences[lookUp]).toMatch(expected.before)
      expect(consequences.warning).toEqual(
        isUnverified ? expect.stringMatching(/^If the claim is wrong, .*a second time\.$/) : null,
      )
      const waits = /The proposal waits on/
      if (lookUp === 'unanswered' && !isUnverified) expect(consequences[lookUp]).toMatch(waits)
      else expect(consequences[lookUp]).not.toMatch(waits)

      const proposed = await dual.post(path, body)
      expect(proposed.json).toMatchObject({ object: 'resolution_proposal', consequences })
      const { proposal } = await readOperation(dual, ref, 'bob')
      expect(proposal).toMatchObject({ proposed_by: 'alice', consequences })
      const printed = await explain(dual, ref)
      for (const sentence of Object.values(consequences)) {
        if (sentence !== null) expect(printed).toContain(sentence)
      }

      if (lookUp === 'unanswered') await loseLookUps(dual)
      const answer = await claimAndLook(dual, ref, body, 'bob')
      await expectAfter(dual, ref, answer, expected, lookUp)
      // A proposal that nothing judged waits on, as was said.
      const { proposal: left } = await readOperation(dual, ref)
      if (expected.status === 'unknown' && lookUp === 'unanswered') {
        expect(left).toMatchObject({ consequences })
      } else expect(left).toBeNull()
    },
  )

  test.each(table.filter(([claim]) => !claim.endsWith('unverified')))(
    'that it %s, lookup %s, needs one operator without dual control, who reads what follows',
    async (claim, lookUp, expected) => {
      const ref = await makeDoubt(single, lookUp)
      const body = await bodyOf(single, claim, ref)
      const { consequences, needs_second_operator: needsTwo } = findClaim(
        await readOperation(single, ref),
        claim,
      )
      expect(needsTwo).toBe(false)
      expect(consequences[lookUp]).toMatch(expected.before)
      expect(consequences[lookUp]).not.toMatch(/proposal/)
      if (lookUp === 'unanswered') await loseLookUps(single)

      const answer = await claimAndLook(single, ref, body, 'alice')
      await expectAfter(single, ref, answer, expected, lookUp)
    },
  )

  test('that is refused says why, to both operators', async () => {
    const ref = await makeDoubt(single, 'found')
    const body = { ...proof, unverified: true }
    await single.post(`/admin/operations/${shownId(ref)}/resolve`, body)
    await single.t.letTimePass(ref, 23 * 3_600)

    const operation = await readOperation(single, ref, 'bob')
    const { consequences } = findClaim(operation, 'did not happen, unverified')
    expect(consequences).toMatchObject({
      refused: expect.stringContaining('may have forgotten the key'),
      warning: null,
      unanswered: expect.stringMatching(NOTHING.before),
    })
    expect(operation.proposal).toMatchObject({ consequences })
    expect(await explain(single, ref)).toContain(consequences.refused)
  })

  test('about a refund speaks of the money that is returned', async () => {
    const payment = await captured(single.t)
    const ref = await single.t.acceptRefund(payment)
    await runUnderFault(single, ref, 'nonsense_body')
    const operation = await readOperation(single, ref)
    expect(findClaim(operation, 'happened').consequences).toMatchObject({
      found: expect.stringContaining('If it is the refund with this id'),
    })
    expect(findClaim(operation, 'did not happen, unverified').consequences).toMatchObject({
      found: 'The refund is recorded, and the claim is not acted on.',
      absent: 'The client may retry, and then the money may be returned.',
      warning: expect.stringContaining('another refund for the same reason returns it a second'),
    })
  })

  test('by the only operator is refused if it needs two', async () => {
    const ref = await makeDoubt(single, 'found')
    const alone = await single.serve({ ADMIN_API_KEY: `alice=${OPERATORS.alice}` })
    const { text } = await operatorsOf(alone).get(`/admin/operations/${shownId(ref)}`)
    const operation = JSON.parse(text) as Operation
    expect(findClaim(operation, 'did not happen, unverified').consequences).toMatchObject({
      refused: 'A second operator is needed, and there is none.',
    })
    expect(findClaim(operation, 'did not happen').consequences).toMatchObject({ refused: null })
  })
})

describe('a resume', () => {
  test('of a failed operation says that it is proved, when it is', async () => {
    const ref = await makeFailed(single)
    expect(await readOperation(single, ref)).toMatchObject({
      in_doubt: false,
      resume_effect: expect.stringContaining('It is proved that the call of the step was not'),
    })
    expect(await explain(single, ref)).toContain('it is proved that its call was not executed.')
  })

  test('after a lookup that proves absence says so, and the claim that it followed, too', async () => {
    const ref = await makeDoubt(single, 'absent')
    const { sql } = single.t.engine.store
    await sql`
      update idempotency_keys set unknown_at = unknown_at - interval '1 hour' where id = ${ref.id}
    `
    const answer = await claimAndLook(single, ref, proof, 'alice')
    expect(answer.json['resolution']).toMatchObject({
      effect:
        'The lookup found nothing, and the claim took effect. The client may retry. It is proved that the call was not executed.',
    })
    expect(await readOperation(single, ref)).toMatchObject({
      status: 'failed_retryable',
      in_doubt: false,
      resume_effect: expect.stringContaining('It is proved that the call of the step was not'),
    })
  })

  test('past the key window says that it looks first', async () => {
    const ref = await makeDoubt(single, 'absent')
    await claimAndLook(single, ref, proof, 'alice')
    await single.t.letTimePass(ref, 23 * 3_600)
    expect(await readOperation(single, ref)).toMatchObject({
      in_doubt: true,
      resume_effect: expect.stringContaining('It is looked up first'),
    })
  })
})
