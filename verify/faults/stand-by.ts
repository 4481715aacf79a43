// The start of each program under test: it loads all imports, reports standby, and runs the script
// itself on request, as if it had been started then. So a killed process has a successor at once.
import { flushCompileCache } from 'node:module'

export function standBy(run: () => Promise<unknown>): void {
  // For the next processes: a killed process writes no cache.
  flushCompileCache()
  // Once, so that the script finds the channel as in a new process.
  process.once('message', () => void run().then(() => flushCompileCache()))
  process.send?.({ type: 'standing by' })
}
