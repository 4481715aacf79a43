// The time limit of a whole call to a provider.
import { before } from './deadline.ts'

/** The time limit has passed. It is not known whether the call was executed. */
export class CallTimeoutError extends Error {
  override name = 'CallTimeoutError'

  constructor(timeoutMs: number) {
    super(`no answer in ${timeoutMs} ms`)
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
  const deadlineMs = Math.min(performance.now() + timeoutMs, sendBeforeMs)
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new CallTimeoutError(timeoutMs)), timeoutMs)
  })
  try {
    return await Promise.race([timeout, before(deadlineMs, call)])
  } finally {
    clearTimeout(timer)
  }
}
