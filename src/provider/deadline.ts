// Sends a request only before its deadline. A process that was frozen, or that waited long for a
// connection, sends nothing afterwards.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Agent } from 'node:http'
import type { Socket } from 'node:net'

/** By `performance.now()`. */
const deadlines = new AsyncLocalStorage<number>()

/** For so long after the deadline, so that the call ends first, by its own time limit. */
const LINGER_MS = 1_000

/** Nothing was sent, because the deadline had passed. */
export class TooLateError extends Error {
  override name = 'TooLateError'

  constructor() {
    super('the time to send the request had passed')
  }
}

/** Makes a call whose requests are sent before the deadline, or not at all. */
export function before<Value>(deadlineMs: number, call: () => Value): Value {
  return deadlines.run(deadlineMs, call)
}

/** @throws TooLateError */
export function refuseLateRequest(deadlineMs = deadlines.getStore()): void {
  if (deadlineMs !== undefined && performance.now() >= deadlineMs) throw new TooLateError()
}

/**
 * Keeps the requests of an agent back until their connection is there, and looks at the clock then.
 * By default Node buffers a request, and sends it by itself once it is connected.
 *
 * @param ready the event of a connection on which a request can be sent.
 */
export function connectBeforeSending<Connecting extends Agent>(
  agent: Connecting,
  ready: 'connect' | 'secureConnect',
): Connecting {
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (options, callback) => {
    const deadlineMs = deadlines.getStore()
    const socket = connect(options) as Socket
    const fail = (error: Error) => callback?.(error, undefined as never)
    const giveUp = () => socket.destroy(new TooLateError())
    if (deadlineMs !== undefined) {
      socket.setTimeout(Math.max(0, deadlineMs - performance.now()) + LINGER_MS, giveUp)
    }
    socket.once('error', fail)
    socket.once(ready, () => {
      socket.off('error', fail)
      socket.setTimeout(0, giveUp)
      try {
        refuseLateRequest(deadlineMs)
        callback?.(null, socket)
      } catch (error) {
        socket.destroy()
        fail(error as Error)
      }
    })
    return undefined
  }
  return agent
}
