// Faults that last for a while: a zombie that resumes in the middle of its successor's work, and a
// store that one process cannot reach.
import type { Fault } from './fault.ts'
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
    name: 'store-away',
    appliesAt: ({ role }) => role === 'worker',
    inject({ lane }, { role, peer }) {
      lane.process(role).store.disconnect(ABSENCE_MS)
      // A request to the provider has left by then. A message to the store is lost.
      return peer === 'provider' ? PASS : { do: 'end' }
    },
  },
]

function standStill(process: ServiceProcess, ms: number): void {
  process.signal('SIGSTOP')
  setTimeout(() => process.signal('SIGCONT'), ms).unref()
}
