// Tests the operation that an event of the provider starts, from each of its recovery points.
// Despite crashes and lost answers, the payment reaches the state that it has at the provider.
import { afterEach, describe, expect, test } from '@jest/globals'
import { showPaymentId, type Payment } from '../../../src/domain/payments/payment.ts'
import type { ProviderEvent } from '../../../src/domain/events/provider-event.ts'
import { applyProviderEvent } from '../../../src/operations/apply-provider-event.ts'
import { resolveDue } from '../../../src/recovery/outcome-resolver.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { dieAt, giveUp, runLosingCommit, withoutRetries } from '../../support/engine-doubles.ts'
import type { Accepted } from '../../support/engine.ts'
import { expectLedgerBalanced } from '../../support/ledger.ts'
import { leaveCaptured } from '../../support/left-captured.ts'
import { postingsOf } from '../../support/records.ts'
import { asked } from '../made-payments.ts'
import { deliver, eventAbout, applyAll } from './provider-events.ts'
import { t } from '../../support/own-engine.ts'

afterEach(async () => {
  await t.provider.control('DELETE', '/faults')
  await expectLedgerBalanced(t.engine.store)
})

/** The possible continuations of a payment, with their final states. */
const stories = {
  succeed: {
    points: ['started', 'authorized'],
    end: { status: 'succeeded', amountCapturedMinor: 1999 },
    executed: ['payment_intent.confirm', 'payment_intent.capture'],
    postings: 1,
  },
  fail: {
    points: ['started', 'declined'],
    end: { status: 'declined', failure: { code: 'payment_intent_authentication_failure' } },
    executed: ['payment_intent.cancel'],
    postings: 0,
  },
} as const
type Answer = keyof typeof stories

interface Following extends Accepted {
  readonly event: ProviderEvent
}

/** A payment whose cardholder has acted, and the operation that an event started for it. */
async function following(answer: Answer): Promise<Following> {
  const { tenantId, paymentId } = await asked(t)
  const payment = await t.readPayment({ tenantId, paymentId })
  const path = `/payment_intents/${payment.providerPaymentId}/authenticate`
  await t.provider.control('POST', path, { outcome: answer })
  const event = eventAbout(payment)
  await deliver(t.engine, event)
  const ref = await t.findOperation({ payment_id: paymentId, operation: 'payment.follow' })
  return { ...ref, event }
}

async function expectEnd(answer: Answer, ref: Following): Promise<void> {
  const { end, executed, postings } = stories[answer]
  expect(await t.readKey(ref)).toMatchObject({ status: 'completed', recovery_point: 'finished' })
  expect(await t.readPayment(ref)).toMatchObject(end)
  const shown = showPaymentId(ref.paymentId)
  expect((await t.executedFor(ref)).map(({ kind }) => kind)).toEqual(executed)
  expect(await postingsOf(t.engine.store, shown)).toHaveLength(postings)
}

const cases = (['succeed', 'fail'] as const).flatMap((answer) =>
  stories[answer].points.map((point) => ({ answer, point })),
)

describe.each(cases)(
  'when the cardholder has answered "$answer", from $point',
  ({ answer, point }) => {
    test('it continues after its owner crashed before it recorded anything', async () => {
      const ref = await following(answer)
      await dieAt(t, ref, point)
      await t.expireLease(ref)

      expect(await runOperation(t.engine, ref)).toBe('finished')

      await expectEnd(answer, ref)
    })

    test('it continues when the acknowledgment of its commit is lost', async () => {
      const ref = await following(answer)

      await runLosingCommit(t, ref, point)

      await expectEnd(answer, ref)
    })
  },
)

test('it continues from captured, where a worker of an earlier version crashed', async () => {
  const ref = await following('succeed')
  await leaveCaptured(t, ref)
  await t.expireLease(ref)

  expect(await runOperation(t.engine, ref)).toBe('finished')

  await expectEnd('succeed', ref)
})

interface Setback {
  readonly answer: Answer
  /** The request whose answer is falsified. */
  readonly match: { method: string; path: string }
  readonly shown: Payment['status']
}

const look = { method: 'GET', path: '/v1/payment_intents/*' }
const capture = { method: 'POST', path: '/v1/payment_intents/*/capture' }
const close = { method: 'POST', path: '/v1/payment_intents/*/cancel' }

test.each<[string, Setback]>([
  ['the look', { answer: 'succeed', match: look, shown: 'requires_action' }],
  ['the capture', { answer: 'succeed', match: capture, shown: 'requires_capture' }],
  ['the closing', { answer: 'fail', match: close, shown: 'declined' }],
])('%s that is refused is made again by the event', async (_title, { answer, match, shown }) => {
  const ref = await following(answer)
  await giveUp(t, ref, match)
  expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable' })
  expect(await t.readPayment(ref)).toMatchObject({ status: shown })

  expect(await applyAll(t, [ref.event])).toEqual(['applied'])

  await expectEnd(answer, ref)
})

test('a lookup whose answers are lost leaves no doubt: it executes nothing', async () => {
  const ref = await following('succeed')
  await giveUp(t, ref, look, 'nonsense_body')

  expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable', in_doubt: false })
})

test.each<[string, Setback]>([
  ['a capture', { answer: 'succeed', match: capture, shown: 'unknown' }],
  ['a closing', { answer: 'fail', match: close, shown: 'declined' }],
])(
  '%s whose outcome is unknown is left to the outcome resolver, and the event waits for it',
  async (_title, { answer, match, shown }) => {
    const ref = await following(answer)
    await giveUp(t, ref, match, 'nonsense_body')

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', in_doubt: true })
    expect(await t.readPayment(ref)).toMatchObject({ status: shown })
    expect(await applyProviderEvent(t.engine, ref.event)).toBe('pending')

    await t.letTimePass(ref, 5)
    expect(await resolveDue(t.engine)).toMatchObject({ settled: 1 })

    expect(await applyAll(t, [ref.event])).toEqual(['applied'])
    await expectEnd(answer, ref)
  },
)

test('a payment that the merchant canceled meanwhile stays canceled, and the event is ignored', async () => {
  const ref = await following('succeed')
  await t.provider.addFault({ match: look, fault: 'rate_limited', times: 3 })
  await runOperation(withoutRetries(t.engine), ref)
  await runOperation(t.engine, await t.acceptCancel(ref))

  expect(await applyAll(t, [ref.event])).toEqual(['ignored'])

  expect(await t.readPayment(ref)).toMatchObject({ status: 'canceled' })
})
