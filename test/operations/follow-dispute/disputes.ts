// Disputed payments at the stand-in, and what the merchant and the books see of them.
import { showPaymentId } from '../../../src/domain/payments/payment.ts'
import { listDisputes } from '../../../src/db/payments/disputes.ts'
import type { ProviderEvent } from '../../../src/domain/events/provider-event.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import type { PaymentRef, TestEngine } from '../../support/engine.ts'
import { eventsOf } from '../../support/records.ts'
import { deliver, eventAbout } from '../follow-payment/provider-events.ts'

/** The fee of the stand-in. */
export const FEE = 1_500

export interface Disputed {
  readonly payment: PaymentRef
  /** The dispute at the provider. */
  readonly objectId: string
}

/** A captured payment. */
export async function paid(t: TestEngine, paymentMethod = 'pm_card_visa'): Promise<PaymentRef> {
  const accepted = await t.accept({ paymentMethod })
  await runOperation(t.engine, accepted)
  return { tenantId: accepted.tenantId, paymentId: accepted.paymentId }
}

/** A captured payment whose card disputes it; all events of the provider are lost so far. */
export async function disputed(
  t: TestEngine,
  paymentMethod = 'pm_card_createDispute',
): Promise<Disputed> {
  const payment = await paid(t, paymentMethod)
  const { providerPaymentId: payment_intent } = await t.readPayment(payment)
  const list = { payment_intent: payment_intent ?? '' }
  const { data } = await t.provider.stripe.disputes.list(list)
  return { payment, objectId: data[0]?.id ?? '' }
}

/** Moves the dispute on at the provider. */
export async function move(t: TestEngine, { objectId }: Disputed, step: object): Promise<void> {
  await t.provider.control('POST', `/disputes/${objectId}`, step)
}

/** Stores an event about the dispute, without our metadata. */
export async function deliverOf(
  t: TestEngine,
  { payment, objectId }: Disputed,
  type = 'charge.dispute.updated',
): Promise<ProviderEvent> {
  const named = { ...(await t.readPayment(payment)), tenantId: payment.tenantId }
  const event = eventAbout(named, { type, about: 'dispute', objectId, subject: null })
  await deliver(t.engine, event)
  return event
}

/** What the merchant and the books see of the disputes of a payment. */
export async function stateOf(t: TestEngine, { tenantId, paymentId }: PaymentRef) {
  const { store } = t.engine
  const shown = showPaymentId(paymentId)
  const page = await listDisputes(store.sql, tenantId, { paymentId }, { limit: 100 })
  const postings = await store.sql<{ kind: string; debit: string; amount: number }[]>`
    select kind, debit, amount_minor::int as amount from ledger_postings
    where payment_id = ${paymentId} and dispute_id is not null
  `
  return {
    disputes: (page?.items ?? []).map(({ status }) => status),
    ledger: postings.map(({ kind, debit, amount }) => `${kind} ${debit} ${amount}`).toSorted(),
    events: (await eventsOf(store, shown)).filter((type) => type.startsWith('dispute.')),
  }
}
