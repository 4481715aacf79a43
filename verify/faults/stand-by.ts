// Begins each program under test: everything is loaded, and the script itself is run when it is told to, as if it
// were started then. So a killed process has its successor at once.
import { flushCompileCache } from 'node:module'

export function standBy(run: () => Promise<unknown>): void {
  // For those that stand by next: whoever is killed leaves nothing.
  flushCompileCache()
  // What the script itself listens to on this channel must find it as a new process does.
  process.once('message', () => void run().then(() => flushCompileCache()))
  process.send?.({ type: 'standing by' })
}
