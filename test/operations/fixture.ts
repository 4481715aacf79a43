// What the tests of every operation, and the fault suite, need to know of one operation. Each folder here that
// belongs to a folder of src/operations has a fixture.ts.
import type { Payment } from '../../src/domain/payments/payment.ts'
import { operations } from '../../src/operations/index.ts'

export interface OperationFixture {
  /** The payment that the operation works on. Its amount is `AMOUNT_MINOR` of amount.ts. */
  readonly startsWith: 'held' | 'captured'
  readonly body: Readonly<Record<string, unknown>>
  /** Another valid body: the same key with it is misused. */
  readonly otherBody: Readonly<Record<string, unknown>>
  /** The provider call, as the executed log of the stand-in names it, and its path; `*` is an id. */
  readonly executed: string
  readonly path: string
  /** The status of the final response. */
  readonly status: 200 | 201
  /** Members of the payment afterwards. */
  readonly payment: Partial<Payment>
  /** How many postings the ledger has for the payment afterwards. */
  readonly postings: number
}

/** Operations that need tests of their own throughout, and why. */
const WITHOUT_FIXTURE: Readonly<Record<string, string>> = {
  'payment.create':
    'it makes its payment, and makes two provider calls: test/engine/run-phases.test.ts',
  'payment.follow': 'no client begins it: test/operations/follow-payment',
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
export function folderOf(operation: string): string {
  const [resource, verb] = operation.split('.')
  return `${verb}-${resource}`
}
