// Limits the time of a provider call: sends each of its requests before a deadline or not at all, also
// after the process was frozen or waited long for a connection, and tells whether one was sent. What was
// never sent is proved not executed.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Agent } from 'node:http'
import type { Socket } from 'node:net'

/**
 * No connection was made on which the request could be sent: no name, no route, a refusal, or a TLS
 * handshake that failed. `connectBeforeSending` throws it, which sends nothing before. An established
 * connection can fail with the same codes, so a code proves nothing.
 */
export class NotConnectedError extends Error {
  override name = 'NotConnectedError'
  /** The code of the failure. Other packages write it. */
  code: string | undefined

  constructor(cause: Error) {
    const code = failureCode(cause)
    // Of several addresses, the combined error has no message.
    super(cause.message || `no connection: ${code}`, { cause })
    this.code = code
  }
}

/** The deadline had passed: the lease had ended, or the time limit of the call. */
class TooLateError extends Error {
  override name = 'TooLateError'
  readonly code = 'timeout'

  constructor() {
    super('the time to send the request had passed')
  }
}

/** Whether the request was never sent. */
export function neverSent(failure: unknown): boolean {
  return failure instanceof NotConnectedError || failure instanceof TooLateError
}

/** The code of the failure, such as ECONNREFUSED. */
export function failureCode(failure: unknown): string | undefined {
  const code = (failure as Record<string, unknown> | null | undefined)?.['code']
  return typeof code === 'string' ? code : undefined
}

/** What a call may still send, and whether it has sent anything. */
interface Sending {
  /** By `performance.now()`. */
  deadlineMs: number
  /** `connected`: there was a connection for one of its requests, so that may have been sent. */
  state?: 'connecting' | 'connected'
}

const sendings = new AsyncLocalStorage<Sending>()

/** For so long after the deadline, so that the call ends first, by its own time limit. */
const LINGER_MS = 1_000

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

/** The time limit has passed. Unless it was never sent, the call may have been executed. */
export class CallTimeoutError extends Error {
  override name = 'CallTimeoutError'

  /** Whether no connection was there in time, so that nothing was sent. */
  readonly neverSent: boolean

  constructor(timeoutMs: number, isUnsent: boolean) {
    super(`no ${isUnsent ? 'connection' : 'answer'} in ${timeoutMs} ms`)
    this.neverSent = isUnsent
  }
}

export interface TimeLimits {
  /** Limits a call as a whole. */
  readonly timeoutMs: number
  /** By `performance.now()`, when nothing may be sent any more, if that is sooner. */
  readonly sendBeforeMs?: number
}

/**
 * Waits for a call up to the time limit, and sends nothing afterwards. The timeout of a provider's
 * package only limits silence, and an answer that arrives byte by byte is never silent.
 *
 * @throws CallTimeoutError, or what the call throws.
 */
export async function withinTimeLimit<Value>(
  { timeoutMs, sendBeforeMs = Number.POSITIVE_INFINITY }: TimeLimits,
  call: () => Promise<Value>,
): Promise<Value> {
  const sending: Sending = { deadlineMs: Math.min(performance.now() + timeoutMs, sendBeforeMs) }
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      // A timer can be early: what was not sent yet must not be sent now.
      sending.deadlineMs = Number.NEGATIVE_INFINITY
      reject(new CallTimeoutError(timeoutMs, sending.state === 'connecting'))
    }, timeoutMs)
  })
  try {
    return await Promise.race([timeout, sendings.run(sending, call)])
  } finally {
    clearTimeout(timer)
  }
}
