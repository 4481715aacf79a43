// Releases all connections that a fault lets hang at once: when the rules are deleted, and when the
// process stops.
import { setMaxListeners } from 'node:events'

export type HangingConnections = ReturnType<typeof createHangingConnections>

export function createHangingConnections() {
  let controller = createController()
  return {
    /** The signal for connections that hang from now on. `release` aborts it. */
    signal: () => controller.signal,
    release: () => {
      controller.abort()
      controller = createController()
    },
  }
}

/** Every hanging connection adds a listener, and their number has no limit. */
function createController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
