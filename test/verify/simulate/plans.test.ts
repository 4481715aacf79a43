import { describe, expect, test } from '@jest/globals'
import { planFaults } from '../../../verify/simulate/faults.ts'
import { makePlans } from '../../../verify/simulate/plans.ts'
import { seededRandom } from '../../../verify/simulate/random.ts'
import { faultNames } from '../../../dev/stripe-stand-in/faults/faults.ts'

describe('the plans of a run', () => {
  test('are the same for the same seed, and different for another seed', () => {
    const plans = makePlans(seededRandom(7), 50)

    expect(makePlans(seededRandom(7), 50)).toEqual(plans)
    expect(makePlans(seededRandom(8), 50)).not.toEqual(plans)
  })

  test('contain every kind of traffic and of client mistake', () => {
    const plans = makePlans(seededRandom(7), 500)

    const steps = plans.flatMap((plan) => plan.steps)
    expect(new Set(steps.map(({ action }) => action))).toEqual(
      new Set(['capture', 'cancel', 'refund']),
    )
    expect(new Set(plans.map(({ patience }) => patience)).size).toBe(3)
    expect(new Set(plans.map(({ resending }) => resending)).size).toBe(3)
    for (const mistake of ['reusesKey', 'sendsInvalidFirst', 'refundsTooMuch'] as const) {
      expect(plans.some((plan) => plan[mistake])).toBe(true)
    }
    expect(plans.some(({ paymentMethod }) => paymentMethod.includes('Declined'))).toBe(true)
  })

  test('never refund more than they capture', () => {
    for (const { amount, captureMethod, steps } of makePlans(seededRandom(7), 500)) {
      const capture = steps.find((step) => step.action === 'capture')
      const held = captureMethod === 'manual' ? 0 : amount
      const refunded = steps.flatMap((step) => (step.action === 'refund' ? [step.amount] : []))
      const sum = refunded.reduce((total, part) => total + part, 0)
      expect(sum).toBeLessThanOrEqual(capture?.amount ?? held)
    }
  })
})

describe('the faults of a run', () => {
  test('are the same for the same seed', () => {
    expect(planFaults(seededRandom(7), 400)).toEqual(planFaults(seededRandom(7), 400))
  })

  test('cover all faults of the Stripe stand-in', () => {
    const faults = new Set<string>(planFaults(seededRandom(7), 4_000).map(({ fault }) => fault))

    expect(faults).toEqual(new Set<string>(faultNames))
  })
})
