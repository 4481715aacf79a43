// Faults that last: a zombie that goes on in the middle of its successor's work, and a store that one process does
// not reach for a while.
import type { Fault } from './faults.ts'
import type { ServiceProcess } from './service-process.ts'
import { PASS } from './watch.ts'

/** Shorter than a lease, and longer than the other one needs. */
const OVERTAKING_MS = 600
/** Longer than a phase takes, shorter than a lease. */
const ABSENCE_MS = 500

export const outages: readonly Fault[] = [
  {
    // Who stood still goes on, and its successor stands still in the same phase: it strikes behind a zombie.
    name: 'overtake',
    strikesAt: () => false,
    strike({ lane }, { role }) {
      const current = lane.process(role)
      standStill(current, OVERTAKING_MS)
      const former = lane.processes.filter((one) => one.role === role && one !== current)
      for (const process of former) process.signal('SIGCONT')
      return PASS
    },
  },
  {
    name: 'store-away',
    strikesAt: ({ role }) => role === 'worker',
    strike({ lane }, { role, of }) {
      lane.process(role).store.leave(ABSENCE_MS)
      // A request to the provider is on its way by then; a message to the store is lost.
      return of === 'provider' ? PASS : { do: 'end' }
    },
  },
]

function standStill(process: ServiceProcess, ms: number): void {
  process.signal('SIGSTOP')
  setTimeout(() => process.signal('SIGCONT'), ms).unref()
}
