// Ids and times of one millisecond have no order.
import { until } from './until.ts'

let latestMs = 0

/** Waits until a later millisecond than that of the call before. */
export async function untilLaterMillisecond(): Promise<void> {
  await until(() => Date.now() > latestMs)
  latestMs = Date.now()
}
