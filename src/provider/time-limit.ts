// The time limit of a whole call to a provider.
import { before, type Sending } from './deadline.ts'

/** The time limit has passed. Unless it was never sent, the call may have been executed. */
export class CallTimeoutError extends Error {
  override name = 'CallTimeoutError'

  /** Whether no connection was there in time, so that nothing was sent. */
  readonly neverSent: boolean

  constructor(timeoutMs: number, neverSent: boolean) {
    super(`no ${neverSent ? 'connection' : 'answer'} in ${timeoutMs} ms`)
    this.neverSent = neverSent
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
    return await Promise.race([timeout, before(sending, call)])
  } finally {
    clearTimeout(timer)
  }
}
