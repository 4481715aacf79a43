// The table of faults: the name of each, the points it applies to, and how it is injected.
import { isCommitBoundary } from './durable-states.ts'
import { eventFaults } from './event-orders.ts'
import { failovers } from './failovers.ts'
import type { Fault } from './fault.ts'
import { findNamed } from './named.ts'
import { outages } from './outages.ts'
import type { Point } from './points.ts'
import { contentionFaults } from './contention.ts'
import { redisFaults } from './redis-faults.ts'
import { shortages } from './shortages.ts'
import { crashStore } from './store-outage.ts'
import { isAtSecond } from './provider-proxy.ts'
import { secondProvider } from './second-provider-kind.ts'
import { PASS } from './watch.ts'

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
  ...redisFaults,
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
