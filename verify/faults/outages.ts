// Faults that last for a while: a zombie that resumes in the middle of its successor's work, an API that
// is suspended within its transaction, and a store that one process cannot reach.
import type { Fault, FaultContext } from './fault.ts'
import { isRepeated, type Point } from './points.ts'
import { untilWaiting } from './rendezvous.ts'
import type { ServiceProcess } from './service-process.ts'
import { PASS } from './watch.ts'

/** Shorter than a lease, longer than the other process needs. */
const OVERTAKING_MS = 600
/** Longer than a phase takes, shorter than a lease. */
const ABSENCE_MS = 500

export const outages: readonly Fault[] = [
  {
    // Follows a zombie: the zombie resumes, and its successor is suspended in the same phase.
    name: 'overtake',
    appliesAt: () => false,
    inject({ lane }, { role }) {
      const current = lane.process(role)
      standStill(current, OVERTAKING_MS)
      const former = lane.processes.filter((one) => one.role === role && one !== current)
      for (const process of former) process.signal('SIGCONT')
      return PASS
    },
  },
  {
    // Another API gets the client's next try. It waits for the key until PostgreSQL ends the session of the
    // first one, which was idle in its transaction for too long. At the end of the run that one resumes.
    name: 'suspended-with-key',
    appliesAt: isWithinIntent,
    kills: true,
    contests: true,
    inject(context, { role }) {
      context.lane.process(role).signal('SIGSTOP')
      context.lane.moveClients()
      context.trackWork(missUnlessWaiting(context))
      return PASS
    },
  },
  {
    name: 'store-away',
    appliesAt: ({ role }) => role === 'worker',
    inject({ lane }, { role, peer }) {
      lane.process(role).store.disconnect(ABSENCE_MS)
      // A request to the provider has left by then. A message to the store is lost.
      return peer === 'provider' ? PASS : { do: 'end' }
    },
  },
]

/** After the first statement of an intent, which reserves the key, and after its last one. */
function isWithinIntent({ role, name, message, label }: Point): boolean {
  const isAnswer = role === 'api' && message === 'ReadyForQuery' && !isRepeated(label)
  return isAnswer && ['reserve', 'insert-events'].includes(name)
}

async function missUnlessWaiting({ lane, reportMissed }: FaultContext): Promise<[]> {
  if (!(await untilWaiting(lane, 1))) reportMissed()
  return []
}

function standStill(process: ServiceProcess, ms: number): void {
  process.signal('SIGSTOP')
  setTimeout(() => process.signal('SIGCONT'), ms).unref()
}
