// The table of faults: the name of each, the points it applies to, and how it is injected. A run, or a
// soak, injects its own at their points, and collects what comes of them.
import { setTimeout as wait } from 'node:timers/promises'
import type { Lane } from './lane.ts'
import type { ReplicatedServer } from '../../test/support/replicated-postgres.ts'
import { isCommitBoundary, isRepeated, type Point } from './points.ts'
import { AUTOMATIC, type Fault, type FaultContext } from './scenario.ts'
import { type Action, PASS } from './watch.ts'
import { checkCallsWithoutStore } from './checks.ts'
import { causeDeadlock, fillDisk, occupyConnections, payAgain } from './shortage.ts'
import { Merchant } from './merchant.ts'
import { retryWhileDown } from './poll.ts'
import { findNamed, type Injection, type Violation } from './results.ts'
import { eventFaults } from './event-orders.ts'
import { contentionFaults, outages } from './contention.ts'
import { isAtSecond } from './provider-proxy.ts'
import { ofExtras, secondProvider } from './extras.ts'

/** Crashes the server at once. Its restart and the next payment go on beside the run. */
function crashStore(context: FaultContext, point: Point): Action {
  const { lane, trackWork, isConcurrent } = context
  const calls = lane.process('worker').provider.requests
  const callsBefore = calls.length
  const restarted = lane.crashServer()
  trackWork(
    restarted.then(async () => {
      const acceptsAt = performance.now()
      const during = calls.slice(callsBefore).filter(({ at }) => at < acceptsAt)
      // A call that a worker was about to make cannot be stopped. Another one must not follow it.
      const went = checkCallsWithoutStore('worker', during, isConcurrent)
      return [...went, ...(await payAgain(context, acceptsAt))]
    }),
  )
  return point.direction === 'out' && point.moment === 'after' ? { do: 'pass' } : { do: 'end' }
}

/** Statements that write the row of an operation. */
const WRITING = ['reserve', 'claim', 'advance', 'finish']

const shortages: readonly Fault[] = [
  {
    name: 'connections-full',
    appliesAt: (point) => isBefore(point, ['fetch-operations', ...WRITING, 'complete-job']),
    affectsServer: true,
    inject: (context, point) => occupyConnections(context, point),
  },
  {
    name: 'disk-full',
    appliesAt: (point) => isBefore(point, WRITING) && !findsItsRow(point),
    affectsServer: true,
    needsDisk: true,
    inject: (context, point) => fillDisk(context, point),
  },
  {
    // These statements of a worker lock the operation. Its payment is locked by the next one.
    name: 'deadlock',
    appliesAt: (point) => point.role === 'worker' && isBefore(point, ['advance', 'finish']),
    inject: (context, point) => causeDeadlock(context, point),
  },
]

/** A repeated request writes nothing. */
function findsItsRow({ name, label }: Point): boolean {
  return name === 'reserve' && isRepeated(label)
}

function isBefore(
  { peer, direction, moment, message, name }: Point,
  names: readonly string[],
): boolean {
  const isSent = peer === 'store' && direction === 'out' && moment === 'before'
  return isSent && (message === 'Execute' || message === 'Query') && names.includes(name)
}

/** From the promotion until a payment begun then has succeeded. */
const FAILOVER_LIMIT_MS = 10_000
/** How long the former primary works again before it is stopped. */
const RETURN_MS = 300
const POLL_MS = 50
const UNAUTHORIZED = 401

interface Happening {
  readonly name: string
  readonly strike: (primary: ReplicatedServer) => Promise<void> | void
  /** What becomes of the message of the point. */
  readonly action: Action
}

const happenings: readonly Happening[] = [
  { name: 'failover-killed', strike: (primary) => primary.kill(), action: { do: 'end' } },
  {
    name: 'failover-cut-off',
    strike: (primary) => primary.relay.cut(),
    action: { do: 'stall' },
  },
  { name: 'failover-frozen', strike: (primary) => primary.freeze(), action: { do: 'stall' } },
  { name: 'failover-fenced', strike: (primary) => primary.makeReadOnly(), action: PASS },
]

const failovers: readonly Fault[] = happenings.map(({ name, strike, action }) => ({
  name,
  appliesAt: isCommitBoundary,
  affectsServer: true,
  needsStandby: true,
  inject(context) {
    context.trackWork(failOver(context, strike))
    return action
  },
}))

async function failOver(
  { lane, merchant: { signal } }: FaultContext,
  strike: Happening['strike'],
): Promise<Violation[]> {
  const { replicated } = lane.options.server
  if (replicated === undefined) throw new Error('the server of the lane has no standby')
  await strike(replicated.primary)
  const former = await replicated.promote()
  const promotedAt = performance.now()
  // The lane's own connection may lead to the former primary, and fails then.
  const tenant = await retryWhileDown(() => lane.createTenant(), signal)
  const next = new Merchant(lane, tenant, signal)
  let answer = await next.pay(AUTOMATIC)
  // The API may still read from the former primary, which does not know the tenant.
  while (answer.status === UNAUTHORIZED && performance.now() - promotedAt < FAILOVER_LIMIT_MS) {
    await wait(POLL_MS)
    answer = await next.pay(AUTOMATIC)
  }
  const { status, resource } = answer
  const ms = Math.round(performance.now() - promotedAt)
  await former.thaw()
  former.relay.heal()
  await wait(RETURN_MS)
  await former.stop()
  await replicated.attachStandby()
  const what = `the first payment after the promotion was answered ${status} ${resource.status ?? ''}`
  const late = `it took ${ms} ms after the promotion`
  return [
    ...(resource.status === 'succeeded' ? [] : [{ invariant: 7, what }]),
    ...(ms > FAILOVER_LIMIT_MS ? [{ invariant: 7, what: late, isLate: true } as const] : []),
  ]
}

const anywhere = () => true
const isAtStore = ({ peer }: Point) => peer === 'store'

/** Just before a statement is executed. */
const isStatement = ({ peer, direction, moment, message }: Point) =>
  peer === 'store' &&
  direction === 'out' &&
  moment === 'before' &&
  (message === 'Execute' || message === 'Query')

/** Before the provider executes anything, so that the proxy can still make the call fail. */
const isRequest = ({ peer, message }: Point) => peer === 'provider' && message === 'request'

/** A fault of a stand-in, if the one of that point has it. */
const isKnownTo = (fault: string, point: Point) =>
  !isAtSecond(point) || secondProvider?.standIn.faults.includes(fault) === true

const isAtWorker = ({ role }: Point) => role === 'worker'

export const faults: readonly Fault[] = [
  {
    // The lane starts the next process, as a supervisor does.
    name: 'SIGKILL',
    appliesAt: anywhere,
    kills: true,
    inject({ lane }, { role }) {
      lane.process(role).signal('SIGKILL')
      return { do: 'end' }
    },
  },
  { name: 'reset', appliesAt: anywhere, inject: () => ({ do: 'reset' }) },
  {
    // The process goes on when its own timeout expires.
    name: 'stall',
    appliesAt: anywhere,
    inject: () => ({ do: 'stall' }),
  },
  {
    // Suspended until a successor has done its work, it goes on as if nothing had happened.
    name: 'zombie',
    appliesAt: isAtWorker,
    kills: true,
    inject({ lane }, { role }) {
      lane.suspend(role)
      return PASS
    },
  },
  {
    // As in a deployment: a successor starts while the process completes what it has begun.
    name: 'SIGTERM',
    appliesAt: anywhere,
    kills: true,
    inject({ lane }, { role }) {
      lane.terminate(role)
      return PASS
    },
  },
  {
    name: 'client-gone',
    appliesAt: ({ role }) => role === 'api',
    inject({ lane }) {
      lane.cutClients()
      return PASS
    },
  },
  refusal('40001', 'ERROR'),
  refusal('40P01', 'ERROR'),
  refusal('55P03', 'ERROR'),
  refusal('57014', 'ERROR'),
  refusal('57P01', 'FATAL'),
  refusal('53300', 'FATAL'),
  {
    name: 'terminate-backend',
    appliesAt: isAtStore,
    inject: ({ lane }) => ({ do: 'terminate', by: (pid) => void lane.terminateBackend(pid) }),
  },
  {
    name: 'postgres-immediate',
    appliesAt: isCommitBoundary,
    affectsServer: true,
    inject: (context, point) => crashStore(context, point),
  },
  {
    // The request reaches the provider when the run is over. One without keys promises not to execute it.
    name: 'provider-late',
    appliesAt: (point) => isRequest(point) && !isAtSecond(point),
    inject: () => ({ do: 'defer' }),
  },
  ...[
    'refuse',
    'hang_before',
    'hang_after',
    'error_500_before',
    'error_500_after',
    'error_500_early',
    'error_500_final',
    'unavailable',
    'rate_limited',
    'lock_timeout',
    'conflict',
    'truncated_body',
    'nonsense_body',
    'slow_drip',
  ].map((fault) => standInFault(fault)),
  misstatedAmount(),
  // The client leaves, and the call is executed within the settling time.
  ...['reset_late', 'hang_late'].map((fault) => standInFault(fault, () => WITHIN_SETTLING_MS)),
  // The provider keeps a 500, and completes the call at any time.
  standInFault('error_500_late', ({ name }) =>
    // A later authorization is a second hold: see the scenario `hold.release.late`.
    name === AUTHORIZATION ? WITHIN_SETTLING_MS : AFTER_SETTLING_MS,
  ),
  ...outages,
  ...contentionFaults,
  ...eventFaults,
  ...shortages,
  ...failovers,
  ...(ofExtras('faults') as readonly Fault[]),
]

/** The store rejects the statement and does not execute it. */
function refusal(sqlState: string, severity: 'ERROR' | 'FATAL'): Fault {
  return {
    name: sqlState,
    appliesAt: isStatement,
    inject: () => ({ do: 'refuse', severity, sqlState }),
  }
}

const AUTHORIZATION = 'provider-authorize'

/** Less than `PROVIDER_SETTLE_SECONDS` of a lane. */
const WITHIN_SETTLING_MS = 800
/** More than that, and less than the operator of a run waits. */
const AFTER_SETTLING_MS = 2_500

/** A fault of a stand-in, for this request only. */
function standInFault(fault: string, delayOf?: (point: Point) => number): Fault {
  return {
    name: `provider-${fault.replaceAll('_', '-')}`,
    appliesAt: (point) => isRequest(point) && isKnownTo(fault, point),
    inject: (_context, point) =>
      delayOf === undefined
        ? { do: 'misbehave', fault }
        : { do: 'misbehave', fault, delayMs: delayOf(point) },
  }
}

/** The amount of a dispute is the provider's word: we have asked for none that it could differ from. */
function misstatedAmount(): Fault {
  const fault = standInFault('wrong_amount')
  const appliesAt = (point: Point) => point.name !== 'provider-dispute' && fault.appliesAt(point)
  return { ...fault, appliesAt }
}

/** @throws Error when the fault is unknown. */
export function faultNamed(name: string): Fault {
  return findNamed('fault', faults, name)
}

interface Injecting {
  /** How many faults reached their point but had no effect there. */
  misses: number
  /** How long it took until new payments succeeded after an outage of PostgreSQL. */
  returnMs: number | null
  /** Resolves when the work that faults began so far is done, with what it found. */
  readonly untilWorkDone: () => Promise<Violation[]>
}

/** From now on the faults are injected at their points, one after the other. */
export function startInjecting(
  { lane, merchant, isConcurrent }: Pick<FaultContext, 'lane' | 'merchant' | 'isConcurrent'>,
  injections: readonly Injection[],
): Injecting {
  const work: Promise<readonly Violation[]>[] = []
  const injecting: Injecting = {
    misses: 0,
    returnMs: null,
    untilWorkDone: async () => (await Promise.all(work)).flat(),
  }
  const context: FaultContext = {
    lane,
    merchant,
    isConcurrent,
    trackWork: (begun) =>
      void work.push(begun.catch((error: unknown) => [{ invariant: 7, what: String(error) }])),
    reportReturn: (ms) => void (injecting.returnMs = ms),
    reportMissed: () => void (injecting.misses += 1),
  }
  lane.watch.begin(injections, ({ fault }, point) => faultNamed(fault).inject(context, point))
  return injecting
}

/** Releases everything that faults held back, even if no process waits for it any more. */
export async function releaseAll(lane: Lane): Promise<void> {
  // The stand-ins answer the requests that they left unanswered.
  await lane.removeFaults()
  for (const { store, provider, extra } of lane.processes) {
    store.dropStalled()
    extra?.dropStalled()
    provider.dropStalled()
    provider.endGathering()
    await provider.releaseDeferred()
  }
}
