// The backlog of a tenant: payments that were accepted, and whose answers nobody waits for.
import { setTimeout as wait } from 'node:timers/promises'
import { awaitFinalAnswers } from '../../simulate/await-final-answers.ts'
import { keepAnswer } from '../../simulate/traffic.ts'
import { countJobs } from '../lane-jobs.ts'
import { type Merchant } from '../merchant.ts'
import { RECOVERY_LIMIT_SECONDS } from '../bounds.ts'
import { MANUAL } from '../payments.ts'

/** The event of each payment: it is held, and not captured, because that takes less time. */
export const BACKLOG_EVENT = 'payment.requires_capture' as const

const CLIENTS = 16
const POLL_MS = 50

/** Sends that many payments, and returns when all are accepted. */
export async function acceptBacklog(merchant: Merchant, count: number): Promise<void> {
  const { sender, signal } = merchant
  const beginOne = () => merchant.begin({ kind: 'payment.create', body: MANUAL })
  const queue = Array.from({ length: count }, beginOne).values()
  const work = async () => {
    for (const operation of queue) {
      const { content, key } = operation
      const options = { patience: 'respond_async', signal } as const
      keepAnswer(operation, await sender.send(content, key, options))
      if (operation.pending?.status !== 202) throw new Error('a payment was not accepted')
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, work))
}

/** Waits while the backlog becomes shorter, and asks for all answers. */
export async function workOff({ lane, sender, history, signal }: Merchant): Promise<void> {
  let [left, movedAt] = [Infinity, performance.now()]
  while (left > 0 && performance.now() - movedAt < RECOVERY_LIMIT_SECONDS * 1_000) {
    const now = await countJobs(lane)
    if (now < left) movedAt = performance.now()
    left = Math.min(left, now)
    await wait(POLL_MS)
  }
  await awaitFinalAnswers({
    sender,
    history,
    concurrency: CLIENTS,
    // From now on only answers are missing.
    seconds: 2 * RECOVERY_LIMIT_SECONDS,
    signal,
    progressed: () => {},
  })
}
