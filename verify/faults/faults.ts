// The one table of what can be done to a run at a point: each fault by its name, where it can strike, and how.
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

/** What a strike has to work with. */
export interface Scene {
  readonly lane: Lane
  readonly shop: Shop
  /** Has the run wait for work that the strike has begun, and takes in what that has found. */
  readonly meanwhile: (work: Promise<readonly Violation[]>) => void
  /** Told how long it took until new payments succeeded when PostgreSQL was back. */
  readonly returned: (ms: number) => void
  /** Told that the strike has found its point, and not brought about there what it is to. */
  readonly missed: () => void
  /** Whether several operations may be under way. */
  readonly isCrowded: boolean
}

export interface Fault {
  readonly name: string
  readonly strikesAt: (point: Point) => boolean
  /** Done at once, while the point's message is held. */
  readonly strike: (scene: Scene, point: Point) => Verdict
  /** Whether it ends a process, which costs a new one. */
  readonly kills?: true
  /** Whether it strikes the server, so that the lane must have one of its own. */
  readonly strikesServer?: true
  /** Whether it has several want the operation, which must be the only one that its tenant has under way. */
  readonly contests?: true
  /** Whether it needs a disk that can be filled, which not every machine lets us have. */
  readonly needsDisk?: true
}

const anywhere = () => true
const isOfStore = ({ of }: Point) => of === 'store'
const isOfProvider = ({ of }: Point) => of === 'provider'

/** Where a statement would be done, had it been sent. */
const isStatement = ({ of, way, moment, message }: Point) =>
  of === 'store' &&
  way === 'out' &&
  moment === 'before' &&
  (message === 'Execute' || message === 'Query')

/** Around a commit: the statement is not sent, is sent, or is committed and nobody knows. */
const isCommitBoundary = ({ of, message, name }: Point) =>
  of === 'store' &&
  COMMITTING.includes(name) &&
  ['Sync', 'ReadyForQuery', 'Query'].includes(message)

/** Where nothing is executed yet, and the proxy can still have it go wrong. */
const isRequest = ({ of, message }: Point) => of === 'provider' && message === 'request'

const isOfWorker = ({ role }: Point) => role === 'worker'

export const faults: readonly Fault[] = [
  {
    // Whatever supervises the service starts the next one.
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
    // Until its own time limit lets the process go on.
    name: 'stall',
    strikesAt: anywhere,
    strike: () => ({ do: 'stall' }),
  },
  {
    // It stands still until a successor has done its work, and goes on as if nothing had been.
    name: 'zombie',
    strikesAt: isOfWorker,
    kills: true,
    strike({ lane }, { role }) {
      lane.stun(role)
      return PASS
    },
  },
  {
    // As a deployment does: a successor begins while it ends what it has begun.
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
    // The request arrives when all is over.
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

/** The store refuses the statement, and has done nothing. */
function refusal(sqlState: string, severity: 'ERROR' | 'FATAL'): Fault {
  return {
    name: sqlState,
    strikesAt: isStatement,
    strike: () => ({ do: 'refuse', severity, sqlState }),
  }
}

/** One of the mock provider's own faults, for this request alone. */
function misbehaviour(fault: string): Fault {
  return {
    name: `provider-${fault.replaceAll('_', '-')}`,
    strikesAt: (point) => isOfProvider(point) && isRequest(point),
    strike: () => ({ do: 'misbehave', fault }),
  }
}

/** @throws Error when there is no such fault. */
export function faultNamed(name: string): Fault {
  const fault = faults.find((known) => known.name === name)
  if (fault !== undefined) return fault
  const names = faults.map((known) => known.name).join(', ')
  throw new Error(`no fault is called "${name}"; there are ${names}`)
}
