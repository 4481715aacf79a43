// Connections that a fault keeps waiting, and the way to let all of them go at once: when the rules
// are deleted, and when the process stops.
import { setMaxListeners } from 'node:events'

export interface HangingConnections {
  /** Aborted when the connections held from now on are to be let go. */
  signal(): AbortSignal
  release(): void
}

/** Makes the switch that every held connection hangs on. */
export function createHangingConnections(): HangingConnections {
  let controller = createController()
  return {
    signal: () => controller.signal,
    release: () => {
      controller.abort()
      controller = createController()
    },
  }
}

/** Each held connection listens, and there is no saying how many there will be. */
function createController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
