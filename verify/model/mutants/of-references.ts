// Mutants of references, and of the fingerprint that tells whether two requests are the same.
import type { Patch } from '../../faults/mutants/mutants.ts'
import type { Space, SpaceChanges } from '../space/space.ts'
import { plain, type ModelMutant, type SpaceForMutant } from './mutant.ts'

/** Two requests with one reference. */
const ONE_ORDER = { keys: 2, oneReference: true, tries: { calls: 1, retries: 0 } } as const

/** The spaces for the mutants of the fault suite. */
export const spacesForReferences: Readonly<Record<string, SpaceForMutant>> = {
  'reference-not-written': { ...ONE_ORDER, foundBy: '1' },
  'reference-of-a-refund-not-written': {
    ...ONE_ORDER,
    operation: 'refund.create',
    foundBy: '1: 2 keys with one reference',
  },
}

const PAYMENTS = 'src/db/payments/payments.ts'

const ofOneOrder = (name: string, changes: SpaceChanges = {}): Space =>
  plain(name, ONE_ORDER, changes)

/** Which statuses leave a reference free. The index follows it. */
const withoutEffect = (statuses: string): readonly Patch[] => [
  {
    file: 'src/domain/payments/payment.ts',
    text: "['declined', 'canceled', 'failed']",
    replacement: statuses,
  },
]

export const mutantsOfReferences: readonly ModelMutant[] = [
  {
    name: 'reference-looked-up-before-the-insert',
    breaks: 'Two payments in one transaction both find their reference free.',
    patches: [
      {
        file: PAYMENTS,
        text: '  const inserted = await tx<PaymentRow[]>`\n    insert into payments ${rowsOf(tx, inOrderOfReference(payments))}\n',
        replacement: `  const used = await tx\`
    select reference from payments
    where tenant_id = \${tenantId} and reference is not null
      and status not in ('declined', 'canceled', 'failed')
  \`
  const references = new Set(used.map(({ reference }) => reference))
  const free = payments.filter(({ reference }) => !references.has(reference))
  if (free.length === 0) return unlessDuplicate(intents, [], paymentIdOf)
  const inserted = await tx<PaymentRow[]>\`
    insert into payments \${rowsOf(tx, free)}
`,
      },
    ],
    schema: ['drop index payments_by_reference'],
    space: ofOneOrder('two payments of one order arrive together', { members: 2 }),
    foundBy: '1: 2 keys with one reference',
  },
  {
    name: 'failed-payment-keeps-its-reference',
    breaks: 'A payment that has failed, and charged nothing, blocks its order.',
    patches: withoutEffect("['declined', 'canceled']"),
    schema: [],
    space: ofOneOrder('a payment of one order fails', { provider: ['refuses'] }),
    foundBy: '3: a client received duplicate-reference',
  },
  {
    name: 'unknown-payment-leaves-its-reference',
    breaks: 'A payment that may have charged does not count as one that may charge.',
    patches: withoutEffect("['declined', 'canceled', 'failed', 'unknown']"),
    schema: [],
    space: ofOneOrder('the answer to a payment of one order is lost'),
    foundBy: '1: 2 keys with one reference',
  },
  {
    name: 'fingerprint-of-another-version',
    breaks: 'A retry that spells a default out counts as another request.',
    patches: [
      {
        file: 'src/domain/idempotency/fingerprint.ts',
        text: 'request.validatedBy(validated.version)',
        replacement: 'request.validatedBy(validated.version - 1)',
      },
    ],
    schema: [],
    space: plain('a retry spells a default out', { respells: true }),
    foundBy: '3: a client received 422',
  },
]
