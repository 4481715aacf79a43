// A bound on waiting for the store. A server that was frozen, or a connection that went silent, never
// fails by itself; the request that needs it must.

/** The store did not answer in time; what it did meanwhile is unknown. */
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
    // Made only when it is needed: its stack costs more than all else here.
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
