import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { listPhaseRuns } from '../src/db/operations/phase-runs.ts'
import type { PaymentRequest } from '../src/domain/payments/payment.ts'
import { createPayment } from '../src/operations/create-payment/phases.ts'
import { runOperation } from '../src/engine/run-phases.ts'
import { createProviders } from '../src/provider/providers.ts'
import { aroundCall, stripeOf } from './support/engine-doubles.ts'
import { startTestEngine, type TestEngine } from './support/engine.ts'
import { arrowsOf } from '../dev/docs/phase-tables.ts'

const OTHER = 'other'

describe('the state diagram of payment.create', () => {
  let t: TestEngine

  beforeAll(async () => {
    // No call may time out: the arrow of a repeated phase is not in the diagram.
    t = await startTestEngine({ PROVIDER_TIMEOUT_MS: 20_000, LEASE_MS: 60_000 })
  })

  afterAll(() => t.stop())

  const arrows = arrowsOf(createPayment.name).map(({ from, to }) => `${from} -> ${to}`)

  test('leaves each recovery point of the phase table, and no other', () => {
    const left = new Set(arrows.map((arrow) => arrow.split(' -> ')[0]))
    expect([...left]).toEqual(['[*]', ...Object.keys(createPayment.phases)])
  })

  test('has the arrows of real payments, and no others', async () => {
    const taken = new Set([
      ...(await arrowsTaken({})),
      ...(await arrowsTaken({ captureMethod: 'manual' })),
      ...(await arrowsTaken({ paymentMethod: 'pm_card_chargeDeclined' })),
      ...(await arrowsTaken({}, cancelingBeforeCapture())),
      ...(await arrowsTaken(uncapturable)),
      ...(await arrowsTaken(uncapturable, aroundCall(t.engine, 'cancel', refuse))),
      ...(await arrowsTaken(uncapturable, capturingBeforeCancel())),
      ...(await arrowsTaken({}, moving(), 'pm_card_visa')),
      ...(await arrowsTaken({}, moving(), 'pm_card_chargeDeclined')),
    ])
    expect([...taken].toSorted()).toEqual(arrows.toSorted())
  })

  /** An engine whose authorizations are canceled at the provider before they can be captured. */
  function cancelingBeforeCapture(): TestEngine['engine'] {
    return aroundCall(t.engine, 'capture', async (original, { payment }) => {
      await t.provider.stripe.paymentIntents.cancel(payment.providerPaymentId ?? '')
      return original()
    })
  }

  const uncapturable = { paymentMethod: 'pm_fault_capture_amount_too_large' }

  async function refuse() {
    const failure = { code: 'not_now', declineCode: null, message: 'Not now.' }
    return { outcome: 'declined', failure, providerPaymentId: null, asked: {}, answered: {} }
  }

  /** An engine whose authorizations are captured at the provider before they can be canceled. */
  function capturingBeforeCancel(): TestEngine['engine'] {
    return aroundCall(t.engine, 'cancel', async (original, { payment }) => {
      const received = { amount_received: payment.amountMinor, amount_capturable: 0 }
      const captured = { status: 'succeeded', ...received }
      await t.provider.control('POST', `/objects/${payment.providerPaymentId}`, captured)
      return original()
    })
  }

  /** An engine whose first provider executes nothing, and which has a second one. */
  function moving(): TestEngine['engine'] {
    const answer = { outcome: 'not_executed', reason: 'away', asked: {}, answered: {} } as const
    const { providers, ...engine } = aroundCall(t.engine, 'authorize', async () => answer)
    const second = { ...stripeOf(t.engine), name: OTHER }
    return { ...engine, providers: createProviders([...providers.all, second]) }
  }

  /** @param fallback the payment method with which the payment may move to the second provider. */
  async function arrowsTaken(
    request: Partial<PaymentRequest>,
    engine: TestEngine['engine'] = t.engine,
    fallback?: string,
  ): Promise<string[]> {
    const other = { provider: OTHER, payment_method: fallback }
    const ref = await t.accept(request, fallback === undefined ? {} : { fallback: other })
    expect(await runOperation(engine, ref)).toBe('finished')
    const runs = await listPhaseRuns(t.engine.store, ref.tenantId, ref.paymentId)
    // A try that was repeated, as on a busy machine, has reached no recovery point.
    return runs.flatMap(({ phase, reached }) =>
      reached === null ? [] : `${phase ?? '[*]'} -> ${reached}`,
    )
  }
})
