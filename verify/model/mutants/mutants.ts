// Lists the mutants that the model finds: the mutants of the fault suite that it can express, and
// some of its own. Each mutant is checked in the smallest space that shows it, and must break the
// invariant that is named here.
import { isPossible } from '../programs/ids.ts'
import { mutants as faultSuiteMutants } from '../../faults/mutants/mutants.ts'
import { plain, type ModelMutant, type SpaceForMutant } from './mutant.ts'
import { mutantsOfBatches, spacesForBatches } from './of-batches.ts'
import { mutantsOfCancellations, spacesForCancellations } from './of-cancellations.ts'
import { mutantsOfFallbacks } from './of-fallbacks.ts'
import { mutantsOfReferences, spacesForReferences } from './of-references.ts'

const RECORD_PHASES = 'src/db/operations/record-phases.ts'

/**
 * The space and the invariant for each mutant of the fault suite. The missing ones concern parts
 * that the model leaves out; docs/evidence.md lists these parts.
 */
const fromFaultSuite: Readonly<Record<string, SpaceForMutant>> = {
  'no-fencing-by-lease-epoch': { foundBy: '6', workers: 2, budget: { expiries: 1 } },
  'no-guard-by-recovery-point': { foundBy: '6', budget: { losses: 2 } },
  'epoch-not-raised-at-a-claim': { foundBy: '6', workers: 2, budget: { expiries: 1 } },
  'a-take-over-begins-anew': { foundBy: '6', workers: 1, budget: { crashes: 1 } },
  'a-job-is-enough-to-claim': { foundBy: '6', workers: 2, budget: { expiries: 1 } },
  'sweeper-takes-leases-that-have-not-run-out': { foundBy: '6' },
  'provider-key-made-anew-on-each-try': { foundBy: '1', budget: { crashes: 1 } },
  'foreign-call-inside-a-transaction': {
    foundBy: '1',
    budget: { crashes: 1 },
    provider: ['forgets'],
  },
  'repeated-past-the-key-window-without-a-look': {
    foundBy: '1',
    budget: { crashes: 1 },
    provider: ['forgets'],
  },
  'repeated-in-doubt-within-the-lease': {
    foundBy: '1',
    provider: ['keyless'],
    tries: { calls: 2, retries: 0 },
  },
  'sweeper-repeats-without-provider-keys': {
    foundBy: '1',
    budget: { crashes: 1 },
    provider: ['keyless'],
  },
  'absence-believed-too-early': {
    foundBy: '5',
    provider: ['delays'],
    checks: [5, 60],
  },
  'failed-refund-believed-absent': {
    foundBy: '5',
    operation: 'refund.create',
    provider: ['fails'],
  },
  'next-phase-without-a-record': { foundBy: '8', budget: { losses: 1 } },
  'no-finding-is-opened': { foundBy: '7', provider: ['hides'] },
  'check-then-insert': { foundBy: '1', requests: 2, budget: { early: 1 } },
  'commit-error-taken-for-a-failure': { foundBy: '3', budget: { losses: 1 } },
  'fingerprint-not-compared': { foundBy: '3', misuses: true },
  'server-error-stored-as-final': { foundBy: '7', provider: ['refuses'] },
  'unknown-finished-by-the-clients-retry': { foundBy: '6', provider: ['forgets'] },
  'reaper-without-its-predicate': { foundBy: '1', expires: true },
  'reaper-not-guarded-by-what-it-found': {
    foundBy: '5',
    provider: ['refuses'],
    isStepwise: true,
  },
  'told-but-not-recorded': { foundBy: '2' },
  'capture-not-posted': { foundBy: '5' },
  'capture-posted-twice': { foundBy: '5' },
  'wrong-amount-posted': { foundBy: '5' },
  'void-forgotten': { foundBy: '5', provider: ['declines'] },
  ...spacesForBatches,
  ...spacesForReferences,
  ...spacesForCancellations,
  'refund-not-reserved': { foundBy: '1', operation: 'refund.create', keys: 3, workers: 1 },
}

function buildFaultSuiteMutants(): ModelMutant[] {
  return Object.entries(fromFaultSuite).map(([name, { foundBy, ...changes }]) => {
    const mutant = faultSuiteMutants.find((other) => other.name === name)
    if (mutant === undefined) throw new Error(`the fault suite has no mutant ${name}`)
    const { breaks, patches, schema = [] } = mutant
    return { name, breaks, patches, schema, space: plain(name, changes), foundBy }
  })
}

/**
 * Mutants that no run of the fault suite finds, because they need an interleaving that no run
 * produces.
 */
const ownSpace: readonly ModelMutant[] = [
  {
    name: 'tombstone-looked-up-before-the-key',
    breaks:
      'A reservation that looked before the tombstone existed finds neither the tombstone nor the key.',
    patches: [
      {
        file: 'src/db/idempotency/reserve-keys.ts',
        text: '    insertKeys(tx, inserted),\n',
        replacement: '    Promise.resolve().then(() => insertKeys(tx, inserted)),\n',
      },
    ],
    schema: [],
    space: plain('a key is deleted', { budget: { early: 1 }, expires: true, lives: 2 }),
    foundBy: '1: a key was used again',
  },
  {
    name: 'phase-written-behind-its-move',
    breaks: 'The recovery point advances in a transaction before the one that writes the rest.',
    patches: [
      {
        file: RECORD_PHASES,
        text: '  return await inTenant(sql, tenantId, async (tx) => {\n',
        replacement: '  const recorded = await inTenant(sql, tenantId, async (tx) => {\n',
      },
      {
        file: RECORD_PHASES,
        text: '    const recorded = inOrder.filter((_, index) => moved[index])\n',
        replacement: `    return inOrder.filter((_, index) => moved[index])
  })
  return await inTenant(sql, tenantId, async (tx) => {
`,
      },
    ],
    schema: [],
    space: plain('a phase is recorded', {}),
    foundBy: '2',
  },
  {
    name: 'new-key-after-a-failure-that-may-not-be-kept',
    breaks: 'The provider key changes, although the earlier one would make a repetition harmless.',
    patches: [
      {
        file: 'src/db/operations/leases.ts',
        text: 'case when failure_kept and failure_certain and',
        replacement: 'case when failure_kept and',
      },
    ],
    schema: [],
    space: plain('a provider fails', { provider: ['fails'] }),
    foundBy: '6: the provider key',
  },
  {
    name: 'canceled-although-in-doubt',
    breaks:
      'A client hears that nothing was executed, while a call of a crashed owner may have run.',
    patches: [
      {
        file: 'src/db/idempotency/cancellations.ts',
        text: '\n      and not in_doubt and phase_began_at is null',
        replacement: '',
      },
    ],
    schema: [],
    space: plain('a key is canceled after a crash', { budget: { crashes: 1 }, cancels: true }),
    foundBy: '5',
  },
  {
    name: 'canceled-while-it-is-claimed',
    breaks: 'The owner of an operation does not keep its client from canceling it.',
    patches: [
      {
        file: 'src/db/idempotency/cancellations.ts',
        text: '      and status = ${from} and ${isWithoutEffect(tx)}\n      and not in_doubt and phase_began_at is null\n',
        replacement: "      and ${from} <> '' and status <> 'completed'\n",
      },
      {
        file: 'src/db/idempotency/key-expiry.ts',
        text: "status = 'completed',",
        replacement: "status = 'completed', lease_expires_at = null,",
      },
    ],
    schema: [],
    space: plain('a key is canceled', { cancels: true }),
    foundBy: '6: a program writes',
  },
  {
    name: 'no-doubt-after-a-takeover',
    breaks: 'The call of an owner that crashed counts as never made.',
    patches: [
      {
        file: 'src/db/operations/leases.ts',
        text: "in_doubt = in_doubt or status = 'processing'",
        replacement: 'in_doubt = in_doubt',
      },
    ],
    schema: [],
    space: plain('an owner crashes', {
      workers: 2,
      budget: { crashes: 1 },
      tries: { calls: 1, retries: 1 },
      provider: ['refuses'],
    }),
    foundBy: '5',
  },
]

export const mutants: readonly ModelMutant[] = [
  ...buildFaultSuiteMutants(),
  ...mutantsOfBatches,
  ...mutantsOfReferences,
  ...mutantsOfCancellations,
  ...mutantsOfFallbacks,
  ...ownSpace,
].filter(({ space }) => isPossible(space))
