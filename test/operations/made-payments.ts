// Creates the payments that operations on a payment start from, and reads all rows about one.
import { listPhaseRuns } from '../../src/db/operations/phase-runs.ts'
import { showPaymentId, type PaymentRequest } from '../../src/domain/payments/payment.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import type { Accepted, PaymentRef, TestEngine } from '../support/engine.ts'
import { eventsOf, postingsOf } from '../support/records.ts'

/** A payment whose money is held. */
export const held = (t: TestEngine) => made(t, { captureMethod: 'manual' })

/** A payment whose cardholder must authenticate. */
export const asked = (t: TestEngine) => made(t, { paymentMethod: 'pm_card_threeDSecureRequired' })

/** A payment whose money is captured. */
export const captured = (t: TestEngine) => made(t, {})

async function made(t: TestEngine, request: Partial<PaymentRequest>): Promise<PaymentRef> {
  const ref = await t.accept(request)
  const result = await runOperation(t.engine, ref)
  if (result !== 'finished') throw new Error(`the payment was not made: ${result}`)
  return { tenantId: ref.tenantId, paymentId: ref.paymentId }
}

/** Every row about an operation and its payment. */
export async function snapshot(t: TestEngine, ref: Accepted & { refundId?: string }) {
  const { store } = t.engine
  const { refundId } = ref
  return {
    key: await t.readKey(ref),
    payment: await t.readPayment(ref),
    refund: refundId === undefined ? null : await t.readRefund({ refundId }),
    runs: await listPhaseRuns(store, ref.tenantId, ref.paymentId),
    postings: await postingsOf(store, showPaymentId(ref.paymentId)),
    events: await eventsOf(store, showPaymentId(ref.paymentId)),
  }
}
