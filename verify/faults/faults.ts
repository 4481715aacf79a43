// The table of faults: the name of each, the points it applies to, and how it is injected.
import { COMMITTING } from './durable-states.ts'
import { eventFaults } from './event-orders.ts'
import type { Lane } from './lane.ts'
import { outages } from './outages.ts'
import type { Point } from './points.ts'
import { rivalries } from './rivalries.ts'
import { shortages } from './shortages.ts'
import { strikeStore } from './store-outage.ts'
import type { Violation } from './results.ts'
import type { Shop } from './shop.ts'
import { PASS, type Verdict } from './watch.ts'

/** What a fault can use while it is injected. */
export interface Scene {
  readonly lane: Lane
  readonly shop: Shop
  /** Makes the run wait for work that the fault began, and collects the violations it found. */
  readonly meanwhile: (work: Promise<readonly Violation[]>) => void
  /** Reports how long it took until new payments succeeded after PostgreSQL was back. */
  readonly returned: (ms: number) => void
  /** Reports that the fault reached its point but had no effect there. */
  readonly missed: () => void
  /** Whether several operations may be in progress. */
  readonly isCrowded: boolean
}

export interface Fault {
  readonly name: string
  readonly strikesAt: (point: Point) => boolean
  /** Called while the message of the point is held back. */
  readonly strike: (scene: Scene, point: Point) => Verdict
  /** Whether it ends a process, so that a new one has to start. */
  readonly kills?: true
  /** Whether it affects the server, so that the lane needs a server to itself. */
  readonly strikesServer?: true
  /**
   * Whether it is a contest for an operation, which must be the only one of its tenant in progress.
   */
  readonly contests?: true
  /** Whether it needs a disk that can be filled, which not every machine provides. */
  readonly needsDisk?: true
}

const anywhere = () => true
const isOfStore = ({ of }: Point) => of === 'store'
const isOfProvider = ({ of }: Point) => of === 'provider'

/** Just before a statement is executed. */
const isStatement = ({ of, way, moment, message }: Point) =>
  of === 'store' &&
  way === 'out' &&
  moment === 'before' &&
  (message === 'Execute' || message === 'Query')

/** Around a commit: the statement is not sent, sent, or committed without an acknowledgment. */
const isCommitBoundary = ({ of, message, name }: Point) =>
  of === 'store' &&
  COMMITTING.includes(name) &&
  ['Sync', 'ReadyForQuery', 'Query'].includes(message)

/** Before the provider executes anything, so that the proxy can still make the call fail. */
const isRequest = ({ of, message }: Point) => of === 'provider' && message === 'request'

const isOfWorker = ({ role }: Point) => role === 'worker'

export const faults: readonly Fault[] = [
  {
    // The lane starts the next process, as a supervisor does.
    name: 'SIGKILL',
    strikesAt: anywhere,
    kills: true,
    strike({ lane }, { role }) {
      lane.process(role).signal('SIGKILL')
      return { do: 'end' }
    },
  },
  { name: 'reset', strikesAt: anywhere, strike: () => ({ do: 'reset' }) },
  {
    // The process goes on when its own timeout expires.
    name: 'stall',
    strikesAt: anywhere,
    strike: () => ({ do: 'stall' }),
  },
  {
    // Suspended until a successor has done its work, it goes on as if nothing had happened.
    name: 'zombie',
    strikesAt: isOfWorker,
    kills: true,
    strike({ lane }, { role }) {
      lane.stun(role)
      return PASS
    },
  },
  {
    // As in a deployment: a successor starts while the process completes what it has begun.
    name: 'SIGTERM',
    strikesAt: anywhere,
    kills: true,
    strike({ lane }, { role }) {
      lane.dismiss(role)
      return PASS
    },
  },
  {
    name: 'client-gone',
    strikesAt: ({ role }) => role === 'api',
    strike({ lane }) {
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
    strikesAt: isOfStore,
    strike: ({ lane }) => ({ do: 'terminate', by: (pid) => void lane.endBackend(pid) }),
  },
  {
    name: 'postgres-immediate',
    strikesAt: isCommitBoundary,
    strikesServer: true,
    strike: (scene, point) => strikeStore(scene, point),
  },
  {
    // The request reaches the provider when the run is over.
    name: 'provider-late',
    strikesAt: isRequest,
    strike: () => ({ do: 'hold' }),
  },
  ...[
    'refuse',
    'hang_before',
    'hang_after',
    'error_500_before',
    'error_500_after',
    'rate_limited',
    'conflict',
    'truncated_body',
    'nonsense_body',
    'wrong_amount',
    'slow_drip',
  ].map(misbehaviour),
  ...outages,
  ...rivalries,
  ...eventFaults,
  ...shortages,
]

/** The store rejects the statement and does not execute it. */
function refusal(sqlState: string, severity: 'ERROR' | 'FATAL'): Fault {
  return {
    name: sqlState,
    strikesAt: isStatement,
    strike: () => ({ do: 'refuse', severity, sqlState }),
  }
}

/** A fault of the Stripe stand-in, for this request only. */
function misbehaviour(fault: string): Fault {
  return {
    name: `provider-${fault.replaceAll('_', '-')}`,
    strikesAt: (point) => isOfProvider(point) && isRequest(point),
    strike: () => ({ do: 'misbehave', fault }),
  }
}

/** @throws Error when the fault is unknown. */
export function faultNamed(name: string): Fault {
  const fault = faults.find((known) => known.name === name)
  if (fault !== undefined) return fault
  const names = faults.map((known) => known.name).join(', ')
  throw new Error(`unknown fault "${name}"; the faults are ${names}`)
}
