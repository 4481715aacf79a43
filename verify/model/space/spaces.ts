// Lists the spaces that `npm run model` explores. The largest have one key with three workers,
// three crashes and three lease expiries. Smaller ones add the other behaviour of the provider,
// single statements of transactions and lost connections. The rest explore several keys.
import type { Space } from './space.ts'

const NO_FAULTS = { crashes: 0, expiries: 0, losses: 0, early: 0 } as const
/** A provider with every behaviour except failures, and one that only executes and answers calls. */
const ANY_PROVIDER = {
  declines: true,
  refuses: true,
  delays: true,
  forgets: true,
  hides: true,
  fails: false,
} as const
const RELIABLE_PROVIDER = {
  declines: false,
  refuses: false,
  delays: false,
  forgets: false,
  hides: false,
  fails: false,
} as const

const ONE_KEY = {
  operation: 'payment.create',
  keys: 1,
  workers: 2,
  requests: 1,
  maintenance: 1,
  tries: { calls: 1, retries: 1 },
  checks: [60],
  isStepwise: false,
  expires: false,
  lives: 1,
  misuses: false,
} as const

export const spaces: readonly Space[] = [
  {
    ...ONE_KEY,
    name: 'payment.create-3x3x3',
    workers: 3,
    budget: { ...NO_FAULTS, crashes: 3, expiries: 3 },
    provider: { ...RELIABLE_PROVIDER, forgets: true },
  },
  {
    ...ONE_KEY,
    name: 'refund.create-3x3x3',
    operation: 'refund.create',
    workers: 3,
    budget: { ...NO_FAULTS, crashes: 3, expiries: 3 },
    provider: { ...RELIABLE_PROVIDER, forgets: true },
  },
  {
    ...ONE_KEY,
    name: 'any-answer',
    budget: { ...NO_FAULTS, crashes: 1, expiries: 1 },
    provider: ANY_PROVIDER,
    checks: [5, 60],
    misuses: true,
  },
  {
    ...ONE_KEY,
    name: 'failures-of-a-payment',
    workers: 1,
    budget: { ...NO_FAULTS, crashes: 1 },
    provider: { ...RELIABLE_PROVIDER, fails: true, delays: true },
  },
  {
    ...ONE_KEY,
    name: 'failures-of-a-refund',
    operation: 'refund.create',
    workers: 1,
    budget: { ...NO_FAULTS, crashes: 1 },
    provider: { ...RELIABLE_PROVIDER, fails: true, delays: true, declines: true, refuses: true },
  },
  {
    ...ONE_KEY,
    name: 'statement-by-statement',
    workers: 1,
    budget: { ...NO_FAULTS, crashes: 1 },
    provider: { ...RELIABLE_PROVIDER, refuses: true },
    isStepwise: true,
  },
  {
    ...ONE_KEY,
    name: 'lost-connections',
    budget: { ...NO_FAULTS, crashes: 1, expiries: 1, losses: 2 },
    provider: RELIABLE_PROVIDER,
  },
  {
    ...ONE_KEY,
    name: 'forgotten-keys',
    workers: 1,
    requests: 2,
    budget: { ...NO_FAULTS, early: 1 },
    provider: { ...RELIABLE_PROVIDER, refuses: true },
    expires: true,
    lives: 2,
  },
  {
    ...ONE_KEY,
    name: 'three-refunds-of-one-payment',
    operation: 'refund.create',
    keys: 3,
    workers: 2,
    budget: NO_FAULTS,
    provider: RELIABLE_PROVIDER,
  },
  {
    ...ONE_KEY,
    name: 'two-refunds-that-fail',
    operation: 'refund.create',
    keys: 2,
    budget: { ...NO_FAULTS, crashes: 1 },
    provider: { ...RELIABLE_PROVIDER, refuses: true },
  },
  {
    ...ONE_KEY,
    name: 'maintenance-side-by-side',
    workers: 1,
    maintenance: 2,
    budget: { ...NO_FAULTS, crashes: 1, expiries: 1 },
    provider: RELIABLE_PROVIDER,
  },
  {
    ...ONE_KEY,
    name: 'three-payments',
    keys: 3,
    workers: 1,
    budget: NO_FAULTS,
    provider: RELIABLE_PROVIDER,
  },
]

/** A small part of each space with one key, for `npm run model -- --quick`. */
export const slices: readonly Space[] = spaces
  .filter(({ keys, isStepwise }) => keys === 1 && !isStepwise)
  .map((space) => ({
    ...space,
    name: `slice-of-${space.name}`,
    workers: 1,
    requests: 1,
    budget: { ...NO_FAULTS, crashes: 1, losses: Math.min(space.budget.losses, 1) },
  }))

/** The space whose paths are replayed on PostgreSQL. */
export const REPLAYED: Space = {
  ...ONE_KEY,
  name: 'replayed',
  budget: { ...NO_FAULTS, crashes: 1, expiries: 1, losses: 1 },
  provider: { ...RELIABLE_PROVIDER, refuses: true, forgets: true },
}
