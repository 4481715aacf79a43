// Waits, within a time limit, until every operation has a final answer. It retries each operation
// with its key. It also reads the resource, because a read makes the service look up an unknown
// outcome at the provider.
import { setTimeout as wait } from 'node:timers/promises'
import type { History, Operation } from './history.ts'
import type { Sender } from './sender.ts'
import { keepAnswer } from './traffic.ts'

export interface AwaitOptions {
  readonly sender: Sender
  readonly history: History
  readonly concurrency: number
  readonly seconds: number
  /** Aborted to stop the wait. */
  readonly signal: AbortSignal
  /** Called after each operation with the number of operations handled so far. */
  readonly progressed: (handled: number) => void
}

const PAUSE_MS = 1_000

/** The operations without a final answer. */
export function findPending({ operations }: History): Operation[] {
  return operations.filter(({ answers }) => answers.length === 0)
}

export async function awaitFinalAnswers(options: AwaitOptions): Promise<void> {
  const { history, concurrency, seconds, signal } = options
  const queue = findPending(history).values()
  const limit = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)])
  let handled = 0
  const work = async () => {
    for (const operation of queue) {
      await resolveOne(options, operation, limit)
      handled += 1
      options.progressed(handled)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
}

async function resolveOne(
  { sender }: AwaitOptions,
  operation: Operation,
  limit: AbortSignal,
): Promise<void> {
  while (!limit.aborted) {
    const { content, key } = operation
    keepAnswer(operation, await sender.send(content, key, { patience: 'wait', signal: limit }))
    if (operation.answers.length > 0) return
    await requestLookup(sender, operation)
    await wait(PAUSE_MS, undefined, { signal: limit }).catch(() => {})
  }
}

/** Reads the resource: for an unknown outcome the service then asks the provider at once. */
async function requestLookup({ client }: Sender, { key }: Operation): Promise<void> {
  try {
    const { data } = await client.GET('/v1/idempotency-keys/{key}', { params: { path: { key } } })
    const resource = data?.resource
    if (resource === null || resource === undefined) return
    const params = { path: { id: resource.id } }
    if (resource.object === 'refund') await client.GET('/v1/refunds/{id}', { params })
    else await client.GET('/v1/payments/{id}', { params })
  } catch {
    // The loop above retries while there is time.
  }
}
