// Limits how long a request waits for the store. A frozen server or a silent connection never
// reports an error.

/** The store did not answer in time; whether it executed the statement is unknown. */
export class StoreTimeoutError extends Error {
  override name = 'StoreTimeoutError'
  readonly code = 'ETIMEDOUT'
}

/** @throws StoreTimeoutError when the statement takes longer than that many milliseconds. */
export async function withinMs<Value>(
  timeoutMs: number,
  statement: Promise<Value>,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    // Created only when needed: capturing its stack is the most expensive step here.
    timer = setTimeout(
      () => reject(new StoreTimeoutError(`the store did not answer in ${timeoutMs} ms`)),
      timeoutMs,
    )
  })
  try {
    return await Promise.race([statement, late])
  } finally {
    clearTimeout(timer)
  }
}
