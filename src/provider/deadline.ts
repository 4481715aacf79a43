// Sends a request only before its deadline. A process that was frozen, or that waited long for a
// connection, sends nothing afterwards.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Agent } from 'node:http'
import type { Socket } from 'node:net'
import { NotConnectedError, TooLateError } from './never-sent.ts'

/** What a call may still send, and whether it has sent anything. */
export interface Sending {
  /** By `performance.now()`. */
  deadlineMs: number
  /** `connected`: there was a connection for one of its requests, so that may have been sent. */
  state?: 'connecting' | 'connected'
}

const sendings = new AsyncLocalStorage<Sending>()

/** For so long after the deadline, so that the call ends first, by its own time limit. */
const LINGER_MS = 1_000

/** Makes a call whose requests are sent before the deadline, or not at all. */
export function before<Value>(sending: Sending, call: () => Value): Value {
  return sendings.run(sending, call)
}

/** @throws TooLateError */
export function refuseLateRequest(sending = sendings.getStore()): void {
  if (sending && performance.now() >= sending.deadlineMs) throw new TooLateError()
}

/**
 * Keeps the requests of an agent back until their connection is there, and looks at the clock then.
 * By default Node buffers a request, and sends it by itself once it is connected. A failure before
 * that is a NotConnectedError.
 *
 * @param ready the event of a connection on which a request can be sent.
 */
export function connectBeforeSending<Connecting extends Agent>(
  agent: Connecting,
  ready: 'connect' | 'secureConnect',
): Connecting {
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (options, callback) => {
    const sending = sendings.getStore()
    if (sending) sending.state ??= 'connecting'
    const socket = connect(options) as Socket
    const fail = (error: Error) => callback?.(error, undefined as never)
    const failToConnect = (error: Error) =>
      fail(error instanceof TooLateError ? error : new NotConnectedError(error))
    const giveUp = () => socket.destroy(new TooLateError())
    if (sending !== undefined) {
      const { deadlineMs } = sending
      socket.setTimeout(Math.max(0, deadlineMs - performance.now()) + LINGER_MS, giveUp)
    }
    socket.once('error', failToConnect)
    socket.once(ready, () => {
      socket.off('error', failToConnect)
      socket.setTimeout(0, giveUp)
      try {
        refuseLateRequest(sending)
        if (sending) sending.state = 'connected'
        callback?.(null, socket)
      } catch (error) {
        socket.destroy()
        fail(error as Error)
      }
    })
    return undefined
  }
  const reuse = agent.reuseSocket.bind(agent)
  agent.reuseSocket = (socket, request) => {
    const sending = sendings.getStore()
    if (sending) sending.state = 'connected'
    reuse(socket, request)
  }
  return agent
}
