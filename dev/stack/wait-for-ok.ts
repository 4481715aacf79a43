// Waits until a part of the stack answers.
import { setTimeout as delay } from 'node:timers/promises'
import { StartError } from '../start-error.ts'

const READY_LIMIT_MS = 60_000
const READY_POLL_MS = 50

/** @throws StartError when the URL does not answer with a success in time; the reason of `stopping`. */
export async function waitForOk(url: string, stopping: AbortSignal): Promise<void> {
  const limit = AbortSignal.timeout(READY_LIMIT_MS)
  const signal = AbortSignal.any([limit, stopping])
  while (!(await answersOk(url, signal))) {
    stopping.throwIfAborted()
    if (limit.aborted) {
      throw new StartError(`${url} was not ready after ${READY_LIMIT_MS} ms. The log is above.`)
    }
    await delay(READY_POLL_MS)
  }
}

async function answersOk(url: string, signal: AbortSignal): Promise<boolean> {
  return fetch(url, { signal }).then(
    (response) => response.ok,
    () => false,
  )
}
