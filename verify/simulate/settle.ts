// Waits, within bounds, until everything that was sent has a final answer: each client comes back with its
// key until it has one, and reads what is unknown, which has it looked up.
import { setTimeout as wait } from 'node:timers/promises'
import type { History, Operation } from './history.ts'
import type { Sender } from './sender.ts'
import { keepAnswer } from './traffic.ts'

export interface SettleOptions {
  readonly sender: Sender
  readonly history: History
  readonly concurrency: number
  readonly seconds: number
  /** Aborted when nobody wants to wait any longer. */
  readonly signal: AbortSignal
  /** Told of each operation that has settled, how many have. */
  readonly progressed: (settled: number) => void
}

const PAUSE_MS = 1_000

/** The operations of which no final answer is known. */
export function unsettledOf({ operations }: History): Operation[] {
  return operations.filter(({ answers }) => answers.length === 0)
}

export async function settle(options: SettleOptions): Promise<void> {
  const { history, concurrency, seconds, signal } = options
  const queue = unsettledOf(history).values()
  const limit = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)])
  let settled = 0
  const work = async () => {
    for (const operation of queue) {
      await resolveOne(options, operation, limit)
      settled += 1
      options.progressed(settled)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
}

async function resolveOne(
  { sender }: SettleOptions,
  operation: Operation,
  limit: AbortSignal,
): Promise<void> {
  while (!limit.aborted) {
    const { wish, key } = operation
    keepAnswer(operation, await sender.send(wish, key, { patience: 'wait', signal: limit }))
    if (operation.answers.length > 0) return
    await requestLookup(sender, operation)
    await wait(PAUSE_MS, undefined, { signal: limit }).catch(() => {})
  }
}

/** Reading what is unknown has the service look it up at once. */
async function requestLookup({ client }: Sender, { key }: Operation): Promise<void> {
  try {
    const { data } = await client.GET('/v1/idempotency-keys/{key}', { params: { path: { key } } })
    const resource = data?.resource
    if (resource === null || resource === undefined) return
    const params = { path: { id: resource.id } }
    if (resource.object === 'refund') await client.GET('/v1/refunds/{id}', { params })
    else await client.GET('/v1/payments/{id}', { params })
  } catch {
    // It is asked for again as long as there is time.
  }
}
