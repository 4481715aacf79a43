// Lists the spaces that `npm run model` explores. The largest have one key with three workers,
// three crashes and three lease expiries. Smaller ones add the other behaviour of the provider,
// single statements of transactions and lost connections. The rest explore several keys, some of
// them in processes that work on two keys in one transaction.
import { isPossible } from '../programs/ids.ts'
import { type Budget, NO_FAULTS, RELIABLE_PROVIDER, type Space, spaceOf } from './space.ts'

/** What a provider may do that keeps keys and no failures. */
const ANY_ANSWER = ['declines', 'refuses', 'delays', 'forgets', 'hides'] as const

/** Two payments of one order. */
const ONE_ORDER = { keys: 2, workers: 1, oneReference: true, tries: { calls: 1, retries: 0 } }

/**
 * Two payments in processes that work on both at the same time, or on one of them. Most operations
 * are not retried, so that the spaces are small enough.
 */
const BATCHES = { keys: 2, workers: 1, members: 2, tries: { calls: 1, retries: 0 } } as const

/** A payment whose key is canceled at any time: an event undoes it. */
const UNDONE = { workers: 1, cancels: true, appliers: 1 }

export const spaces: readonly Space[] = [
  spaceOf('payment.create-3x3x3', {
    workers: 3,
    budget: { crashes: 3, expiries: 3 },
    provider: ['forgets'],
  }),
  spaceOf('refund.create-3x3x3', {
    operation: 'refund.create',
    workers: 3,
    budget: { crashes: 3, expiries: 3 },
    provider: ['forgets'],
  }),
  spaceOf('any-answer', {
    budget: { crashes: 1, expiries: 1 },
    provider: ANY_ANSWER,
    checks: [5, 60],
    misuses: true,
  }),
  spaceOf('failures-of-a-payment', {
    workers: 1,
    budget: { crashes: 1 },
    provider: ['fails', 'delays'],
  }),
  spaceOf('failures-of-a-refund', {
    operation: 'refund.create',
    workers: 1,
    budget: { crashes: 1 },
    provider: ['fails', 'delays', 'declines', 'refuses'],
  }),
  spaceOf('payment-without-provider-keys', {
    budget: { crashes: 1, expiries: 1 },
    tries: { calls: 2, retries: 1 },
    provider: ['keyless', 'refuses', 'delays'],
  }),
  spaceOf('refund-without-provider-keys', {
    operation: 'refund.create',
    budget: { crashes: 1, expiries: 1 },
    tries: { calls: 2, retries: 1 },
    provider: ['keyless', 'refuses', 'delays'],
  }),
  spaceOf('payment-with-a-fallback', {
    budget: { expiries: 1 },
    provider: ['refuses', 'delays'],
    fallback: true,
  }),
  spaceOf('fallback-and-cancellations', {
    workers: 1,
    budget: { crashes: 1 },
    tries: { calls: 2, retries: 1 },
    provider: ['refuses'],
    fallback: true,
    cancels: true,
  }),
  spaceOf('fallback-and-failures', {
    workers: 1,
    budget: { crashes: 1 },
    tries: { calls: 1, retries: 0 },
    provider: ['fails', 'refuses'],
    fallback: true,
  }),
  spaceOf('statement-by-statement', {
    workers: 1,
    budget: { crashes: 1 },
    provider: ['refuses'],
    isStepwise: true,
  }),
  spaceOf('lost-connections', { budget: { crashes: 1, expiries: 1, losses: 2 } }),
  spaceOf('forgotten-keys', {
    workers: 1,
    requests: 2,
    budget: { early: 1 },
    provider: ['refuses'],
    expires: true,
    lives: 2,
  }),
  spaceOf('canceled-payments', {
    budget: { crashes: 1, expiries: 1 },
    provider: ['refuses', 'delays'],
    cancels: true,
  }),
  spaceOf('canceled-payments-and-lost-connections', {
    budget: { crashes: 1, expiries: 1, losses: 1 },
    provider: ['refuses', 'forgets'],
    cancels: true,
  }),
  spaceOf('canceled-refunds', {
    operation: 'refund.create',
    budget: { crashes: 1, losses: 1 },
    provider: ['refuses'],
    cancels: true,
  }),
  spaceOf('three-refunds-of-one-payment', { operation: 'refund.create', keys: 3, workers: 2 }),
  spaceOf('two-refunds-that-fail', {
    operation: 'refund.create',
    keys: 2,
    budget: { crashes: 1 },
    provider: ['refuses'],
  }),
  spaceOf('maintenance-side-by-side', {
    workers: 1,
    maintenance: 2,
    budget: { crashes: 1, expiries: 1 },
  }),
  spaceOf('three-payments', { keys: 3, workers: 1 }),
  spaceOf('undone-payments', {
    ...UNDONE,
    budget: { crashes: 1, expiries: 1 },
    provider: ['refuses'],
  }),
  spaceOf('undone-payments-and-lost-connections', { ...UNDONE, budget: { losses: 1 } }),
  spaceOf('undone-payments-whose-refund-is-declined', {
    ...UNDONE,
    budget: { crashes: 1 },
    provider: ['declines'],
  }),
  spaceOf('undone-beside-a-refund', { ...UNDONE, refundsPart: true }),
  spaceOf('undone-by-two-workers', { ...UNDONE, workers: 2, appliers: 2 }),
  spaceOf('one-reference-and-late-calls', { ...ONE_ORDER, provider: ['refuses', 'delays'] }),
  spaceOf('one-reference-at-once', { ...ONE_ORDER, requests: 2, provider: ['declines'] }),
  spaceOf('one-reference-and-crashes', {
    ...ONE_ORDER,
    budget: { crashes: 1 },
    provider: ['declines'],
  }),
  spaceOf('one-reference-and-lost-connections', {
    ...ONE_ORDER,
    budget: { losses: 1 },
    provider: ['declines'],
  }),
  spaceOf('one-reference-of-three', { ...ONE_ORDER, keys: 3, provider: ['declines'] }),
  spaceOf('one-reference-of-refunds', {
    ...ONE_ORDER,
    operation: 'refund.create',
    provider: ['declines', 'refuses'],
  }),
  spaceOf('batches-with-a-refused-request', {
    ...BATCHES,
    requests: 2,
    budget: { losses: 2 },
    tries: { calls: 1, retries: 1 },
    misuses: true,
    repeats: true,
    refusedKeys: [1],
  }),
  spaceOf('batches-and-lost-connections', {
    ...BATCHES,
    budget: { losses: 1 },
    tries: { calls: 1, retries: 1 },
  }),
  spaceOf('batches-and-crashes', {
    ...BATCHES,
    budget: { crashes: 1 },
    tries: { calls: 1, retries: 1 },
  }),
  spaceOf('batches-and-declines', { ...BATCHES, provider: ['declines'] }),
  spaceOf('batches-and-expired-leases', { ...BATCHES, workers: 2, budget: { expiries: 1 } }),
  spaceOf('batches-with-one-reference', {
    ...BATCHES,
    oneReference: true,
    budget: { losses: 1 },
    provider: ['declines'],
  }),
].filter(isPossible)

/** Not among the slices, because theirs are the longest. Only the whole model explores these spaces. */
export const LONGEST: readonly string[] = [
  'failures-of-a-payment',
  'failures-of-a-refund',
  'batches-and-crashes',
  'batches-and-lost-connections',
  'canceled-payments-and-lost-connections',
]

/** Without a crash their slices have a tenth of the states. A crash is in the slices of the others. */
const WITHOUT_CRASH: readonly string[] = ['any-answer', 'forgotten-keys']

const sliced = spaces.filter(({ name }) => !LONGEST.includes(name))

const sliceOf = (space: Space, budget: Partial<Budget>): Space => ({
  ...space,
  name: `slice-of-${space.name}`,
  workers: 1,
  requests: 1,
  budget: { ...NO_FAULTS, ...budget },
})

/** At most one of each fault that the space has. */
const oneOfEach = (budget: Budget): Partial<Budget> =>
  Object.fromEntries(Object.entries(budget).map(([fault, times]) => [fault, Math.min(times, 1)]))

const slicesOfOneKey = sliced
  .filter((one) => one.keys === 1 && !one.isStepwise && one.appliers === 0 && !one.fallback)
  .map((space) =>
    sliceOf(space, {
      crashes: WITHOUT_CRASH.includes(space.name) ? 0 : 1,
      losses: Math.min(space.budget.losses, 1),
    }),
  )

/** Of the spaces with events the smallest. */
const slicesOfCancellations = sliced
  .filter(({ appliers }) => appliers === 2)
  .map((space) => sliceOf(space, {}))

/** Of the spaces with a fallback the one with late calls. */
const slicesOfFallbacks = spaces
  .filter(({ fallback, provider }) => fallback && provider.delays)
  .map((space) => sliceOf(space, { crashes: 1 }))

const slicesOfOrders: readonly Space[] = [
  spaceOf('slice-of-one-reference', { ...ONE_ORDER, provider: ['declines'], respells: true }),
  spaceOf('slice-of-one-reference-of-refunds', {
    ...ONE_ORDER,
    operation: 'refund.create',
    provider: ['refuses'],
  }),
]

const slicesOfBatches = sliced
  .filter(({ members }) => members === 2)
  .map((space) => ({
    ...sliceOf(space, oneOfEach(space.budget)),
    tries: BATCHES.tries,
    provider: RELIABLE_PROVIDER,
  }))

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
