// Decides from an error of a connection whether the request was never sent, which proves that the
// provider did not execute it.

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
export class TooLateError extends Error {
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
