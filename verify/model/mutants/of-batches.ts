// Mutants of batches: each is harmless while a transaction has one member.
import type { Patch } from '../../faults/mutants/mutants.ts'
import type { Space, SpaceChanges } from '../space/space.ts'
import { plain, type ModelMutant, type SpaceForMutant } from './mutant.ts'

/** Two keys, and processes that work on both at the same time. No operation is retried. */
const TOGETHER = { keys: 2, members: 2, tries: { calls: 1, retries: 0 } } as const

const together = (name: string, changes: SpaceChanges): Space => plain(name, TOGETHER, changes)

/** The spaces for the mutants of the fault suite. */
export const spacesForBatches: Readonly<Record<string, SpaceForMutant>> = {
  'outcomes-of-a-batch-mixed-up': { ...TOGETHER, foundBy: '3', refusedKeys: [1] },
  'refusal-fails-the-batch': { ...TOGETHER, foundBy: '3', refusedKeys: [1] },
  'key-not-unique-in-a-batch': { ...TOGETHER, foundBy: '1', keys: 1, repeats: true },
  'answers-of-a-batch-mixed-up': { ...TOGETHER, foundBy: '3' },
  'job-left-out': { ...TOGETHER, foundBy: '7' },
  'refused-key-kept': { ...TOGETHER, foundBy: '3', refusedKeys: [1] },
}

const RECORD_PHASES = 'src/db/operations/record-phases.ts'
const BATCHES = 'src/db/connection/batches.ts'

const patched = (file: string, text: string, replacement: string): readonly Patch[] => [
  { file, text, replacement },
]

export const mutantsOfBatches: readonly ModelMutant[] = [
  {
    name: 'keys-looked-up-together-mixed-up',
    breaks: 'A retry gets the answer of the other key that was looked up with its own.',
    patches: patched(
      'src/db/idempotency/idempotency-keys.ts',
      'return names.map(({ key }) => found.get(key))',
      'return [...found.values()].toReversed()',
    ),
    schema: [],
    space: together('two keys are looked up', {}),
    foundBy: '3: a client received',
  },
  {
    name: 'failed-batch-taken-for-recorded',
    breaks: 'After a batch lost its connection, its members go on as if it was executed.',
    patches: patched(
      BATCHES,
      'resolve(isAlone ? Promise.reject(error) : runAlone(run, member))',
      'resolve(isAlone ? Promise.reject(error) : (true as Result))',
    ),
    schema: [],
    space: together('a batch loses its connection', { budget: { losses: 1 } }),
    foundBy: '8',
  },
  {
    name: 'batch-claims-what-is-leased',
    breaks: 'Of two operations that are claimed together, one may belong to another worker.',
    patches: patched(
      'src/db/operations/leases.ts',
      "and (status = 'pending' or (status = 'processing' and lease_expires_at < now()))",
      "and (status = 'pending' or (status = 'processing' and (lease_expires_at < now() or ${refs.length > 1})))",
    ),
    schema: [],
    space: together('an owner of one of two leases crashes', { budget: { crashes: 1 } }),
    foundBy: '6: a program writes while another',
  },
  {
    name: 'one-record-counts-for-its-batch',
    breaks: 'A worker that lost one of two leases goes on with both operations.',
    patches: patched(
      RECORD_PHASES,
      'return phases.map((phase) => recorded.includes(phase))',
      'return phases.map(() => recorded.length > 0)',
    ),
    schema: [],
    space: together('one of two leases is lost', { budget: { expiries: 1 } }),
    foundBy: '8',
  },
  {
    name: 'batch-fenced-by-one-lease-epoch',
    breaks: 'All phases of a batch are fenced by the lease epoch of the first one.',
    patches: patched(
      RECORD_PHASES,
      'inOrder.map((phase) => moveIfOwner(tx, phase))',
      'inOrder.map((phase) => moveIfOwner(tx, { ...phase, claim: { ...phase.claim, leaseEpoch: inOrder[0].claim.leaseEpoch } }))',
    ),
    schema: [],
    space: together('one of two leases is lost', { workers: 2, budget: { expiries: 1 } }),
    foundBy: '6: a former owner',
  },
  {
    name: 'batch-changes-payments-without-their-fences',
    breaks: 'A worker that lost one of two leases changes both payments.',
    patches: patched(
      RECORD_PHASES,
      '    await write(tx, tenantId, recorded)\n',
      `    await write(tx, tenantId, recorded)
    const lost = recorded.length === 0 ? [] : inOrder.filter((phase) => !recorded.includes(phase))
    await together(lost.map(({ claim, record }) => changeResource(tx, tenantId, claim, record.writes)))
`,
    ),
    schema: [],
    space: together('one of two leases is lost', { budget: { expiries: 1 } }),
    foundBy: '2',
  },
  {
    name: 'batch-posts-to-one-of-its-operations',
    breaks: 'The postings of a batch all belong to its first operation.',
    patches: patched(
      RECORD_PHASES,
      'ledger.map((entry) => ({ claim, entry }))',
      'ledger.map((entry) => ({ claim: phases[0].claim, entry }))',
    ),
    schema: ['alter table ledger_postings drop constraint ledger_postings_once'],
    space: together('two captures are posted', {}),
    foundBy: '5',
  },
]
