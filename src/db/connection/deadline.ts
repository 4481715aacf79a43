// Limits how long a request waits for the store. A frozen server or a silent connection never
// reports an error.

/** The store did not answer in time; whether it executed the statement is unknown. */
export class StoreTimeoutError extends Error {
  override name = 'StoreTimeoutError'
  readonly code = 'ETIMEDOUT'
}

/** @throws StoreTimeoutError when the statement takes longer than that many milliseconds. */
export function withinMs<Value>(timeoutMs: number, statement: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    // Created only when needed: capturing its stack is the most expensive step here.
    const timer = setTimeout(
      () => reject(new StoreTimeoutError(`the store did not answer in ${timeoutMs} ms`)),
      timeoutMs,
    )
    statement.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
