// Tests what becomes of a hold that the provider completed after its payment went on without it. The
// service releases that hold once, and never the hold that the payment uses.
import { describe, expect, test } from '@jest/globals'
import { insertRun } from '../../../src/reconciliation/runs.ts'
import { showPaymentId, type Payment } from '../../../src/domain/payments/payment.ts'
import { keyOfRelease, type ProviderEvent } from '../../../src/domain/events/provider-event.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { applyProviderEvent } from '../../../src/operations/apply-provider-event.ts'
import type { ReleaseParameters } from '../../../src/operations/release-hold/phases.ts'
import { carryOutRun } from '../../../src/reconciliation/carry-out-run.ts'
import { resolveDue } from '../../../src/recovery/outcome-resolver.ts'
import { giveUp, stripeOf } from '../../support/engine-doubles.ts'
import type { PaymentRef } from '../../support/engine.ts'
import { eventsOf, postingsOf } from '../../support/records.ts'
import { applyAll, deliver, eventAbout, runWaiting } from '../follow-payment/provider-events.ts'
import { AMOUNT_MINOR } from '../amount.ts'
import { asked, captured, held } from '../made-payments.ts'
import { t } from '../../support/own-engine.ts'

/** A second authorization of the payment, as the provider completes one under an earlier key. */
async function authorizeAgain(ref: PaymentRef, terms: Partial<Payment> = {}): Promise<string> {
  const payment = { ...(await t.readPayment(ref)), paymentMethod: 'pm_card_visa', ...terms }
  const outcome = await stripeOf(t.engine).calls.authorize.execute({ payment }, identityOf(ref))
  return (outcome as { value: { providerPaymentId: string } }).value.providerPaymentId
}

/** Captures this intent at the provider, as someone else. */
async function captureThere(ref: PaymentRef, providerPaymentId: string): Promise<void> {
  const payment = { ...(await t.readPayment(ref)), providerPaymentId }
  const identity = { ...identityOf(ref), providerKey: `captured_${providerPaymentId}` }
  await stripeOf(t.engine).calls.capture.execute({ payment }, identity)
}

const identityOf = ({ paymentId }: PaymentRef) => ({
  providerKey: `late_${paymentId}`,
  operationId: paymentId,
  sendBeforeMs: Infinity,
})

const eventOf = ({ tenantId, paymentId }: PaymentRef, intentId: string): ProviderEvent =>
  eventAbout({ tenantId, id: paymentId, providerPaymentId: intentId })

async function statusAtProvider(intentId: string): Promise<string> {
  const object = await t.provider.control('GET', `/objects/${intentId}`)
  return String((object as { status: unknown }).status)
}

/** What the merchant and the books see of a payment. */
async function stateOf(ref: PaymentRef) {
  const { store } = t.engine
  const shown = showPaymentId(ref.paymentId)
  const postings = await postingsOf(store, shown)
  return {
    payment: await t.readPayment(ref),
    ledger: postings.map(({ kind, amount }) => `${kind} ${amount}`),
    events: await eventsOf(store, shown),
  }
}

/** The calls that release a hold at the provider. */
async function releases(intentId: string): Promise<number> {
  const calls = await t.provider.executed()
  return calls.filter(({ id, kind }) => id === intentId && kind === 'payment_intent.cancel').length
}

const uses = [
  ['a captured payment', captured],
  ['a payment whose money is held', held],
  ['a payment whose cardholder must authenticate', asked],
] as const

describe.each(uses)('a second hold of %s', (_, made) => {
  test('is released, and the payment stays as it is', async () => {
    const ref = await made(t)
    const before = await stateOf(ref)
    const surplus = await authorizeAgain(ref)

    expect(await deliver(t.engine, eventOf(ref, surplus))).toBe('pending')
    await runWaiting(t)

    expect(await statusAtProvider(surplus)).toBe('canceled')
    expect(await statusAtProvider(before.payment.providerPaymentId ?? '')).not.toBe('canceled')
    expect(await stateOf(ref)).toEqual(before)
  })

  test('is released once when two events name it', async () => {
    const ref = await made(t)
    const surplus = await authorizeAgain(ref)
    const [one, other] = [eventOf(ref, surplus), eventOf(ref, surplus)]

    await Promise.all([deliver(t.engine, one), deliver(t.engine, other)])

    expect(await applyAll(t, [one, other])).toEqual(['applied', 'applied'])
    expect(await releases(surplus)).toBe(1)
  })
})

const declined = async () => {
  const accepted = await t.accept({ paymentMethod: 'pm_card_chargeDeclined' })
  await runOperation(t.engine, accepted)
  return accepted
}

test.each<[string, () => Promise<PaymentRef>, Partial<Payment>]>([
  ['of a declined payment', declined, {}],
  [
    'that asks its cardholder to authenticate',
    () => captured(t),
    { paymentMethod: 'pm_card_threeDSecureRequired' },
  ],
  ['of another amount: the payment was adjusted since', () => captured(t), { amountMinor: 500 }],
])('a second hold is released %s', async (_, make, terms) => {
  const ref = await make()
  const surplus = await authorizeAgain(ref, terms)
  const event = eventOf(ref, surplus)

  await deliver(t.engine, event)

  expect(await amountOfRelease(ref)).toBe(terms.amountMinor ?? AMOUNT_MINOR)
  expect(await applyAll(t, [event])).toEqual(['applied'])
  expect(await statusAtProvider(surplus)).toBe('canceled')
})

async function amountOfRelease({ paymentId }: PaymentRef): Promise<unknown> {
  const columns = { payment_id: paymentId, operation: 'hold.release' }
  const { parameters } = await t.readKey(await t.findOperation(columns))
  return (parameters as ReleaseParameters).amountMinor
}

test('a hold that a payment in progress may still use is left alone', async () => {
  const accepted = await t.accept({})
  const early = await authorizeAgain(accepted)

  expect(await deliver(t.engine, eventOf(accepted, early))).toBe('pending')

  expect(await statusAtProvider(early)).toBe('requires_capture')
})

test('an amount that only one answer shows is not believed', async () => {
  const ref = await captured(t)
  const surplus = await authorizeAgain(ref)
  const match = { method: 'GET', path: `/v1/payment_intents/${surplus}` } as const
  await t.provider.addFault({ match, fault: 'wrong_amount', times: 1 })
  const event = eventOf(ref, surplus)

  expect(await deliver(t.engine, event)).toBe('pending')
  await expect(amountOfRelease(ref)).rejects.toThrow('there is no such operation')

  expect(await applyAll(t, [event])).toEqual(['applied'])
  expect(await statusAtProvider(surplus)).toBe('canceled')
})

test('a hold in another currency is left to a person', async () => {
  const ref = await captured(t)
  const other = await authorizeAgain(ref, { currency: 'eur' })

  expect(await deliver(t.engine, eventOf(ref, other))).toBe('unmatched')

  expect(await statusAtProvider(other)).toBe('requires_capture')
})

test('a second intent that was captured is left to a person', async () => {
  const ref = await captured(t)
  const surplus = await authorizeAgain(ref)
  await captureThere(ref, surplus)

  expect(await deliver(t.engine, eventOf(ref, surplus))).toBe('unmatched')

  expect(await statusAtProvider(surplus)).toBe('succeeded')
})

/** A second hold of a captured payment, its event, and the operation that is to release it. */
async function releasing() {
  const ref = await captured(t)
  const surplus = await authorizeAgain(ref)
  const event = eventOf(ref, surplus)
  await deliver(t.engine, event)
  const [operation] = await t.engine.store.sql<{ id: string }[]>`
    select id from idempotency_keys where key = ${keyOfRelease(surplus)}
  `
  const match = { method: 'POST', path: `/v1/payment_intents/${surplus}/cancel` } as const
  return { surplus, event, match, operation: { ...ref, id: operation?.id ?? '' } }
}

describe('a release', () => {
  test('whose answers are lost is looked up, and not repeated', async () => {
    const { surplus, event, match, operation } = await releasing()
    await giveUp(t, operation, match, 'nonsense_body')
    expect(await applyProviderEvent(t.engine, event)).toBe('pending')
    await t.letTimePass(operation, 5)

    await resolveDue(t.engine)

    expect(await applyProviderEvent(t.engine, event)).toBe('applied')
    expect(await releases(surplus)).toBe(1)
  })

  test('that was not executed is made again when the event is applied again', async () => {
    const { surplus, event, match, operation } = await releasing()
    await giveUp(t, operation, match)

    expect(await applyAll(t, [event])).toEqual(['applied'])

    expect(await releases(surplus)).toBe(1)
  })

  test('that the provider refuses leaves the hold to a person', async () => {
    const { surplus, event, operation } = await releasing()
    await captureThere(operation, surplus)

    expect(await applyAll(t, [event])).toEqual(['applied'])

    expect(await statusAtProvider(surplus)).toBe('succeeded')
    expect(await t.readPayment(operation)).toMatchObject({ status: 'succeeded' })
  })
})

describe('a reconciliation', () => {
  const DAY_MS = 24 * 60 * 60 * 1_000

  async function compare() {
    const from = new Date(Date.now() - DAY_MS)
    const to = new Date(Date.now() + DAY_MS)
    const { sql } = t.engine.store
    const run = await insertRun(sql, { provider: 'stripe', requestedBy: 'test', from, to })
    return await carryOutRun(t.engine, run.id)
  }

  const findingsAbout = async (objectId: string) =>
    await t.engine.store.sql`
      select kind from reconciliation_findings where object_id = ${objectId}
    `

  test('has a second hold released whose events were lost', async () => {
    const ref = await captured(t)
    const surplus = await authorizeAgain(ref)

    await compare()
    const [stored] = await t.engine.store.sql<{ provider: string; id: string }[]>`
      select provider, id from provider_events where provider_payment_id = ${surplus}
    `
    await applyProviderEvent(t.engine, stored ?? { provider: '', id: '' })
    await runWaiting(t)

    expect(await statusAtProvider(surplus)).toBe('canceled')
    expect(await findingsAbout(surplus)).toEqual([])
  })

  test('reports a hold that could not be released', async () => {
    const ref = await captured(t)
    const surplus = await authorizeAgain(ref)
    await compare()
    await t.engine.store.sql`
      update provider_events set status = 'applied', settled_at = now()
      where provider_payment_id = ${surplus}
    `

    await compare()

    expect(await findingsAbout(surplus)).toEqual([{ kind: 'held_twice' }])
  })
})
