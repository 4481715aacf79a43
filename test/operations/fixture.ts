// Describes one operation for the generic tests and the fault suite. Each folder here that belongs
// to a folder of src/operations has a fixture.ts.
import type { Payment } from '../../src/domain/payments/payment.ts'
import { operations } from '../../src/operations/index.ts'

export interface OperationFixture {
  /** The payment that the operation works on. Its amount is `AMOUNT_MINOR` of amount.ts. */
  readonly startsWith: 'held' | 'captured'
  readonly body: Readonly<Record<string, unknown>>
  /** Another valid body, if there is one: sent with the same key, it is a misuse. */
  readonly otherBody?: Readonly<Record<string, unknown>>
  /**
   * The provider call: its name in the executed log of the stand-in, and its path; `*` is an id.
   * Absent: the operation makes none.
   */
  readonly executed?: string
  readonly path?: string
  /** The events of its own that it announces, beside those of a changed status. */
  readonly announces?: readonly string[]
  /** Members of the payment that it stores: empty before, and set afterwards. */
  readonly stores?: readonly (keyof Payment)[]
  /** The status of the final response. */
  readonly status: 200 | 201
  /** Members of the payment afterwards. */
  readonly payment: Partial<Payment>
  /** The postings of the payment afterwards: one of a captured payment, none of a held one, and its own. */
  readonly postings: number
  /** Why the model leaves the operation out. */
  readonly notModelled?: string
  /** Why the simulated traffic leaves it out. */
  readonly notSimulated?: string
}

/** Operations that the generic tests cannot test, and why. */
const WITHOUT_FIXTURE: Readonly<Record<string, string>> = {
  'payment.create':
    'it starts with no payment, and makes two provider calls: create-payment/fixture.ts',
  'payment.follow': 'no client begins it: test/operations/follow-payment',
  'refund.follow': 'no client begins it: test/operations/follow-refund',
  'dispute.follow': 'no client begins it: test/operations/follow-dispute',
  'hold.release': 'no client begins it: test/operations/release-hold',
}

export interface FixtureOfOperation extends OperationFixture {
  readonly operation: string
}

/** The fixtures, in the order of src/operations/index.ts. A new operation without one fails here. */
export const fixtures: readonly FixtureOfOperation[] = await Promise.all(
  operations
    .filter(({ name }) => !(name in WITHOUT_FIXTURE))
    .map(async ({ name: operation }) => {
      const { fixture } = (await import(`./${folderOf(operation)}/fixture.ts`)) as {
        fixture: OperationFixture
      }
      return { operation, ...fixture }
    }),
)

/** The folder of an operation: `payment.capture` is in `capture-payment`. */
function folderOf(operation: string): string {
  const [resource, verb] = operation.split('.')
  return `${verb}-${resource}`
}
