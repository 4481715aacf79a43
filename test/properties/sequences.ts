// Generates random sequences of commands. The weights make most commands effective, and make them
// reuse payments and keys.
import * as fc from 'fast-check'
import { Act, Create, Misuse, Repeat } from './commands.ts'
import type { Action, Creation } from './model.ts'

const share = fc.oneof(
  { weight: 3, arbitrary: fc.constant('all' as const) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 99 }) },
  { weight: 1, arbitrary: fc.constant('too much' as const) },
)

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('capture' as const), share }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('refund' as const), share }) },
)

const creation: fc.Arbitrary<Creation> = fc.record({
  // From the minimum charge on. Captures and refunds of a share have smaller amounts.
  amount: fc.oneof(fc.integer({ min: 50, max: 99_999_999 }), fc.integer({ min: 50, max: 52 })),
  currency: fc.constantFrom('usd', 'eur'),
  capture_method: fc.constantFrom('automatic', 'manual'),
  payment_method: fc.oneof(
    { weight: 6, arbitrary: fc.constant('pm_card_visa' as const) },
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        'pm_card_chargeDeclined' as const,
        'pm_card_threeDSecure2Required' as const,
        'pm_fault_error_500_after' as const,
        'pm_fault_reset_after' as const,
      ),
    },
  ),
})

const once = action.map((one) => [{ action: one, twice: false }])
/** Up to four concurrent requests. */
const race = fc.oneof(
  fc.array(fc.record({ action, twice: fc.constant(false) }), { minLength: 2, maxLength: 4 }),
  fc.array(fc.record({ action, twice: fc.boolean() }), { minLength: 1, maxLength: 2 }),
)
const copies = fc.constantFrom(1, 1, 1, 3)

/** Sequences of up to 24 commands. */
export const sequences = fc.commands(
  [
    fc.tuple(creation, copies).map((made) => new Create(...made)),
    fc.tuple(fc.nat(9), once, fc.boolean()).map((acted) => new Act(...acted)),
    fc.tuple(fc.nat(9), once, fc.boolean()).map((acted) => new Act(...acted)),
    fc.tuple(fc.nat(9), race, fc.constant(false)).map((acted) => new Act(...acted)),
    fc.nat(99).map((which) => new Repeat(which)),
    fc.nat(99).map((which) => new Misuse(which)),
  ],
  { maxCommands: 24, size: 'max' },
)
