// Lists the spaces that `npm run model` explores. The largest have one key with three workers,
// three crashes and three lease expiries. Smaller ones add the other behaviour of the provider,
// single statements of transactions and lost connections. The rest explore several keys, some of
// them in processes that work on two keys in one transaction.
import type { Budget, Space } from './space.ts'

export const NO_FAULTS = { crashes: 0, expiries: 0, losses: 0, early: 0 } as const
/** A provider with every behaviour except failures, and one that only executes and answers calls. */
const ANY_PROVIDER = {
  declines: true,
  refuses: true,
  delays: true,
  forgets: true,
  hides: true,
  fails: false,
  keyless: false,
} as const
export const RELIABLE_PROVIDER = {
  declines: false,
  refuses: false,
  delays: false,
  forgets: false,
  hides: false,
  fails: false,
  keyless: false,
} as const

export const ONE_KEY = {
  operation: 'payment.create',
  keys: 1,
  workers: 2,
  requests: 1,
  maintenance: 1,
  tries: { calls: 1, retries: 1 },
  fallback: false,
  checks: [60],
  isStepwise: false,
  expires: false,
  lives: 1,
  cancels: false,
  appliers: 0,
  refundsPart: false,
  misuses: false,
  respells: false,
  oneReference: false,
  members: 1,
  repeats: false,
  refusedKeys: [],
} as const

/** Two payments of one order. */
const ONE_ORDER = {
  ...ONE_KEY,
  keys: 2,
  workers: 1,
  oneReference: true,
  budget: NO_FAULTS,
  tries: { calls: 1, retries: 0 },
} as const

/**
 * Two payments in processes that work on both at the same time, or on one of them. Most operations
 * are not retried, so that the spaces are small enough.
 */
const BATCHES = {
  ...ONE_KEY,
  keys: 2,
  workers: 1,
  members: 2,
  tries: { calls: 1, retries: 0 },
  provider: RELIABLE_PROVIDER,
} as const

/** A payment whose key is canceled at any time: an event undoes it. */
const UNDONE = { ...ONE_KEY, workers: 1, cancels: true, appliers: 1 } as const

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
    name: 'payment-without-provider-keys',
    budget: { ...NO_FAULTS, crashes: 1, expiries: 1 },
    tries: { calls: 2, retries: 1 },
    provider: { ...RELIABLE_PROVIDER, keyless: true, refuses: true, delays: true },
  },
  {
    ...ONE_KEY,
    name: 'refund-without-provider-keys',
    operation: 'refund.create',
    budget: { ...NO_FAULTS, crashes: 1, expiries: 1 },
    tries: { calls: 2, retries: 1 },
    provider: { ...RELIABLE_PROVIDER, keyless: true, refuses: true, delays: true },
  },
  {
    ...ONE_KEY,
    name: 'payment-with-a-fallback',
    budget: { ...NO_FAULTS, expiries: 1 },
    provider: { ...RELIABLE_PROVIDER, refuses: true, delays: true },
    fallback: true,
  },
  {
    ...ONE_KEY,
    name: 'fallback-and-cancellations',
    workers: 1,
    budget: { ...NO_FAULTS, crashes: 1 },
    tries: { calls: 2, retries: 1 },
    provider: { ...RELIABLE_PROVIDER, refuses: true },
    fallback: true,
    cancels: true,
  },
  {
    ...ONE_KEY,
    name: 'fallback-and-failures',
    workers: 1,
    budget: { ...NO_FAULTS, crashes: 1 },
    tries: { calls: 1, retries: 0 },
    provider: { ...RELIABLE_PROVIDER, fails: true, refuses: true },
    fallback: true,
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
    name: 'canceled-payments',
    budget: { ...NO_FAULTS, crashes: 1, expiries: 1 },
    provider: { ...RELIABLE_PROVIDER, refuses: true, delays: true },
    cancels: true,
  },
  {
    ...ONE_KEY,
    name: 'canceled-payments-and-lost-connections',
    budget: { ...NO_FAULTS, crashes: 1, expiries: 1, losses: 1 },
    provider: { ...RELIABLE_PROVIDER, refuses: true, forgets: true },
    cancels: true,
  },
  {
    ...ONE_KEY,
    name: 'canceled-refunds',
    operation: 'refund.create',
    budget: { ...NO_FAULTS, crashes: 1, losses: 1 },
    provider: { ...RELIABLE_PROVIDER, refuses: true },
    cancels: true,
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
  {
    ...UNDONE,
    name: 'undone-payments',
    budget: { ...NO_FAULTS, crashes: 1, expiries: 1 },
    provider: { ...RELIABLE_PROVIDER, refuses: true },
  },
  {
    ...UNDONE,
    name: 'undone-payments-and-lost-connections',
    budget: { ...NO_FAULTS, losses: 1 },
    provider: RELIABLE_PROVIDER,
  },
  {
    ...UNDONE,
    name: 'undone-payments-whose-refund-is-declined',
    budget: { ...NO_FAULTS, crashes: 1 },
    provider: { ...RELIABLE_PROVIDER, declines: true },
  },
  {
    ...UNDONE,
    name: 'undone-beside-a-refund',
    budget: NO_FAULTS,
    provider: RELIABLE_PROVIDER,
    refundsPart: true,
  },
  {
    ...UNDONE,
    name: 'undone-by-two-workers',
    workers: 2,
    appliers: 2,
    budget: NO_FAULTS,
    provider: RELIABLE_PROVIDER,
  },
  {
    ...ONE_ORDER,
    name: 'one-reference-and-late-calls',
    provider: { ...RELIABLE_PROVIDER, refuses: true, delays: true },
  },
  {
    ...ONE_ORDER,
    name: 'one-reference-at-once',
    requests: 2,
    provider: { ...RELIABLE_PROVIDER, declines: true },
  },
  {
    ...ONE_ORDER,
    name: 'one-reference-and-crashes',
    budget: { ...NO_FAULTS, crashes: 1 },
    provider: { ...RELIABLE_PROVIDER, declines: true },
  },
  {
    ...ONE_ORDER,
    name: 'one-reference-and-lost-connections',
    budget: { ...NO_FAULTS, losses: 1 },
    provider: { ...RELIABLE_PROVIDER, declines: true },
  },
  {
    ...ONE_ORDER,
    name: 'one-reference-of-three',
    keys: 3,
    provider: { ...RELIABLE_PROVIDER, declines: true },
  },
  {
    ...ONE_ORDER,
    name: 'one-reference-of-refunds',
    operation: 'refund.create',
    provider: { ...RELIABLE_PROVIDER, declines: true, refuses: true },
  },
  {
    ...BATCHES,
    name: 'batches-with-a-refused-request',
    requests: 2,
    budget: { ...NO_FAULTS, losses: 2 },
    tries: { calls: 1, retries: 1 },
    misuses: true,
    repeats: true,
    refusedKeys: [1],
  },
  {
    ...BATCHES,
    name: 'batches-and-lost-connections',
    budget: { ...NO_FAULTS, losses: 1 },
    tries: { calls: 1, retries: 1 },
  },
  {
    ...BATCHES,
    name: 'batches-and-crashes',
    budget: { ...NO_FAULTS, crashes: 1 },
    tries: { calls: 1, retries: 1 },
  },
  {
    ...BATCHES,
    name: 'batches-and-declines',
    budget: NO_FAULTS,
    provider: { ...RELIABLE_PROVIDER, declines: true },
  },
  {
    ...BATCHES,
    name: 'batches-and-expired-leases',
    workers: 2,
    budget: { ...NO_FAULTS, expiries: 1 },
  },
  {
    ...BATCHES,
    name: 'batches-with-one-reference',
    oneReference: true,
    budget: { ...NO_FAULTS, losses: 1 },
    provider: { ...RELIABLE_PROVIDER, declines: true },
  },
]

/** Not among the slices: theirs are as long as all others, and others have the same faults. */
const LONGEST = ['failures-of-a-payment', 'batches-and-lost-connections']

const sliced = spaces.filter(({ name }) => !LONGEST.includes(name))

const sliceOf = (space: Space, budget: Partial<Budget>): Space => ({
  ...space,
  name: `slice-of-${space.name}`,
  workers: 1,
  requests: 1,
  budget: { ...NO_FAULTS, ...budget },
})

/** At most one of each fault that the space has. */
const oneOfEach = ({ crashes, expiries, losses, early }: Budget): Budget => ({
  crashes: Math.min(crashes, 1),
  expiries: Math.min(expiries, 1),
  losses: Math.min(losses, 1),
  early: Math.min(early, 1),
})

const slicesOfOneKey = sliced
  .filter((one) => one.keys === 1 && !one.isStepwise && one.appliers === 0 && !one.fallback)
  .map((space) => sliceOf(space, { crashes: 1, losses: Math.min(space.budget.losses, 1) }))

/** Of the spaces with events the smallest. */
const slicesOfCancellations = spaces
  .filter(({ appliers }) => appliers === 2)
  .map((space) => sliceOf(space, {}))

/** Of the spaces with a fallback the one with late calls. */
const slicesOfFallbacks = spaces
  .filter(({ fallback, provider }) => fallback && provider.delays)
  .map((space) => sliceOf(space, { crashes: 1 }))

const slicesOfOrders: readonly Space[] = [
  {
    ...ONE_ORDER,
    name: 'slice-of-one-reference',
    provider: { ...RELIABLE_PROVIDER, declines: true },
    respells: true,
  },
  {
    ...ONE_ORDER,
    name: 'slice-of-one-reference-of-refunds',
    operation: 'refund.create',
    provider: { ...RELIABLE_PROVIDER, refuses: true },
  },
]

const slicesOfBatches = sliced
  .filter(({ members }) => members === 2)
  .map((space) => {
    const { tries, provider } = BATCHES
    return { ...sliceOf(space, oneOfEach(space.budget)), tries, provider }
  })

/**
 * A small part of most spaces with one key or batches, of one with events and of one with a fallback, and
 * two of one reference, for `npm run model -- --quick`.
 */
export const slices: readonly Space[] = [
  ...slicesOfOneKey,
  ...slicesOfCancellations,
  ...slicesOfFallbacks,
  ...slicesOfOrders,
  ...slicesOfBatches,
]
