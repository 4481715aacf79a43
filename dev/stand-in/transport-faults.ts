// Implements the faults of a connection and of a process, which are the same at every provider. A
// `before` fault executes nothing. An `after` fault executes, and the answer is lost.
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { resetConnection, sendAnswer, startAnswer, type WireAnswer } from './wire.ts'

/** A request into which such a fault is injected. */
export interface ReceivedRequest {
  res: ServerResponse
  delayMs: number
  /** Executes or refuses the request, and returns the true answer. */
  execute: () => WireAnswer
  /** Runs the work while the request counts as being executed. */
  whileInFlight: (work: () => Promise<void>) => Promise<void>
  refuseConnections: (milliseconds: number) => void
  /** Aborted when hanging connections must be closed. */
  released: AbortSignal
}

type TransportFault = (received: ReceivedRequest) => void | Promise<void>

const DRIP_INTERVAL_MS = 10

export async function hang({ res, released }: ReceivedRequest): Promise<void> {
  if (!res.closed) await once(res, 'close', { signal: released })
}

/** By the names that rules use. */
export const transportFaults = {
  /**
   * Resets the connection and stops listening for `delay_ms`, so that new connections are refused.
   * The server sees a request only after it accepted the connection. The matching request therefore
   * gets a reset, and all later requests, of any client, get the refusal.
   */
  refuse: ({ res, delayMs, refuseConnections }) => {
    refuseConnections(delayMs)
    resetConnection(res)
  },
  reset_before: ({ res }) => resetConnection(res),
  reset_after: ({ res, execute }) => {
    execute()
    resetConnection(res)
  },
  /** Never answers: the connection hangs until the client closes it or the rules are deleted. */
  hang_before: (received) => received.whileInFlight(() => hang(received)),
  hang_after: (received) => {
    received.execute()
    return hang(received)
  },
  /** Executes, announces the whole body, sends half of it and closes the connection. */
  truncated_body: ({ res, execute }) => {
    const body = startAnswer(res, execute())
    res.write(body.subarray(0, Math.floor(body.length / 2)), () => res.destroy())
  },
  /** Executes, and answers 200 with a body that is not in the format of the provider. */
  nonsense_body: ({ res, execute }) => {
    const { contentType } = execute()
    sendAnswer(res, { status: 200, body: '<html>Bad Gateway</html>', contentType })
  },
  /** Executes at once, and answers after `delay_ms`. */
  delay: async ({ res, delayMs, execute, whileInFlight, released }) => {
    const answer = execute()
    await whileInFlight(() => wait(delayMs, undefined, { signal: released }))
    sendAnswer(res, answer)
  },
  /** Executes, and sends the body in small pieces over `delay_ms`. */
  slow_drip: async ({ res, delayMs, execute, released }) => {
    const body = startAnswer(res, execute())
    const pieces = Math.min(body.length, Math.ceil(delayMs / DRIP_INTERVAL_MS))
    for (let piece = 0; piece < pieces && !res.closed; piece += 1) {
      await wait(delayMs / pieces, undefined, { signal: released })
      const [from, to] = [piece, piece + 1].map((part) => Math.floor((part * body.length) / pieces))
      res.write(body.subarray(from, to))
    }
    res.end()
  },
} as const satisfies Record<string, TransportFault>
