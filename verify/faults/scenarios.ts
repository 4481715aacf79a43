// The scenarios: what a client requests for each operation. Requirements of the operation are
// prepared without a fault.
import { operationEndpoints } from '../../src/operations/index.ts'
import { type FixtureOfOperation, fixtures } from '../../test/operations/fixture.ts'
import { announced, payReferenced, refundReferenced, routed } from './variants.ts'
import { captureTogether, payTogether } from './batches.ts'
import {
  cancelAfterwards,
  canceledAtOnce,
  cancelInVain,
  contests,
  reaperContests,
} from './contests.ts'
import { comparisons, expire, expireHold, releaseHold } from './holds.ts'
import { ofExtras } from './extras.ts'
import { type Case, findNamed, providerNamed, type Violation } from './results.ts'
import { eventScenarios, follow, followDispute, followFailedRefund } from './event-scenarios.ts'
import type { LaneNeeds, Scenario } from './scenario.ts'
import { AUTOMATIC, DECLINED, MANUAL, paid, UNCAPTURABLE } from './scenario.ts'
import { neighbours } from './neighbours/scenarios.ts'
import type { Merchant } from './merchant.ts'

/** Operations whose requests the invariants of every run know by kind. */
const OWN_SCENARIOS = ['payment.capture', 'payment.cancel', 'refund.create']

const refund: Scenario = {
  name: 'refund.create',
  prepare: paid(AUTOMATIC),
  act: (merchant, id) => merchant.refund(id, 1_000),
}

export const scenarios: readonly Scenario[] = [
  { name: 'payment.create', isNeeded: true, act: (merchant) => merchant.pay(AUTOMATIC) },
  {
    name: 'payment.create.pooled',
    needs: { pooled: true },
    variant: 'same calls',
    // A pooler hides the process of the server, and waits for a place in a full one. A fetch is not
    // committed when its answer arrives, so a suspended worker keeps its jobs locked.
    strikes: ({ name, affectsServer }) =>
      affectsServer !== true && !['terminate-backend', 'job-twice'].includes(name),
    act: (merchant) => merchant.pay(AUTOMATIC),
  },
  {
    name: 'payment.create.replicated',
    isNeeded: true,
    needs: { replicated: true },
    variant: 'same calls',
    act: (merchant) => merchant.pay(AUTOMATIC),
  },
  {
    name: 'payment.create.declined',
    variant: 'same calls',
    act: (merchant) => merchant.pay(DECLINED),
  },
  {
    name: 'payment.create.manual',
    variant: 'same calls',
    act: (merchant) => merchant.pay(MANUAL),
  },
  { name: 'payment.create.refused', act: (merchant) => merchant.pay(UNCAPTURABLE) },
  {
    name: 'payment.capture.refused',
    variant: 'other calls',
    prepare: paid({ ...UNCAPTURABLE, capture_method: 'manual' }),
    act: (merchant, id) => merchant.capture(id, 1_500),
  },
  {
    name: 'payment.capture',
    prepare: paid(MANUAL),
    act: (merchant, id) => merchant.capture(id, 1_500),
  },
  {
    name: 'payment.cancel',
    prepare: paid(MANUAL),
    act: (merchant, paymentId) => merchant.perform({ kind: 'payment.cancel', paymentId }),
  },
  refund,
  payTogether,
  captureTogether,
  announced,
  ...(ofExtras('scenarios') as readonly Scenario[]),
  ...routed,
  cancelAfterwards,
  payReferenced,
  refundReferenced,
  follow,
  followFailedRefund,
  followDispute,
  releaseHold,
  expire,
  expireHold,
  ...fixtures.filter(({ operation }) => !OWN_SCENARIOS.includes(operation)).map(scenarioOf),
]

/** The scenario of an operation that has none of its own, from the fixture of its tests. */
function scenarioOf(fixture: FixtureOfOperation): Scenario {
  const { operation, startsWith, body } = fixture
  const path = operationEndpoints.find((route) => route.operation.name === operation)?.path ?? ''
  return {
    name: operation,
    prepare: paid(startsWith === 'held' ? MANUAL : AUTOMATIC),
    act: (merchant, paymentId) => merchant.perform({ kind: 'operation', path, paymentId, body }),
    check: (merchant) => checkDoneOnce(merchant, fixture),
  }
}

/**
 * The provider executed the call of the operation once, its own events are announced once, and the
 * payment is as the fixture says.
 */
async function checkDoneOnce(
  { lane, history, sender }: Merchant,
  { executed, announces = [], payment: expected }: FixtureOfOperation,
): Promise<Violation[]> {
  const id = history.operations[0]?.answers[0]?.resource.id ?? ''
  const log = await lane.provider.listExecuted()
  const calls = log.filter(({ kind }) => kind === executed)
  const own = calls.filter(({ metadata }) => metadata['atomic_payment'] === id)
  const { data } = await sender.client.GET('/v1/payments/{id}', { params: { path: { id } } })
  const shown = { status: data?.status, amountMinor: data?.amount }
  const wrong = Object.entries(shown).filter(
    ([member, value]) => (expected[member as keyof typeof shown] ?? value) !== value,
  )
  const { data: events } = await sender.client.GET('/v1/events', {
    params: { query: { payment: id } },
  })
  const types = events?.data.map(({ type }) => type) ?? []
  const misannounced = announces.filter((type) => types.filter((one) => one === type).length !== 1)
  return [
    ...misannounced.map((type) => ({ invariant: 5, what: `${type} is not announced once` })),
    ...(executed === undefined || own.length === 1
      ? []
      : [
          { invariant: 1, what: `${executed}: ${own.length} times, of ${calls.length} in the log` },
        ]),
    ...wrong.map(([member]) => ({ invariant: 5, what: `${member} of the payment is another` })),
  ]
}

const all = [
  ...scenarios,
  ...contests,
  cancelInVain,
  ...canceledAtOnce,
  ...reaperContests,
  ...comparisons,
  ...eventScenarios,
  ...neighbours,
]

/** @throws Error when the scenario is unknown. */
export function scenarioNamed(name: string): Scenario {
  return findNamed('scenario', all, name)
}

/** What the lane of a run must have. */
export function needsOf({ scenario, provider }: Case): LaneNeeds {
  const { needs } = scenarioNamed(scenario)
  return { ...needs, settings: { ...providerNamed(provider).settings, ...needs?.settings } }
}
