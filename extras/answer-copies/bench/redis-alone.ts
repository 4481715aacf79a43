// The classic design, as a subject of the benchmark: Redis alone keeps `started`, `completed` and
// `failed` of each key, and decides who executes. It is not the service: a write that Redis has
// acknowledged and then loses lets a second request execute.
import type { createClient } from 'redis'

type Client = Pick<ReturnType<typeof createClient>, 'get' | 'set' | 'del'>

/** How long a key may be in progress before another request may execute it. */
const IN_PROGRESS_MS = 60_000
const COMPLETED_MS = 86_400_000

export type Outcome =
  | { readonly status: 'executed' | 'replayed'; readonly answer: string }
  | { readonly status: 'in_progress' | 'failed' | 'reused' }

interface Kept {
  readonly state: 'started' | 'completed'
  readonly fingerprint: string
  readonly answer?: string
}

export interface KeyedRequest {
  readonly tenantId: string
  readonly key: string
  readonly fingerprint: string
}

/**
 * Executes the request unless Redis knows its key. `SET NX` decides which of several requests does, and
 * its time limit ends a request whose process died. A request that failed frees its key.
 */
export async function executeOnce(
  redis: Client,
  { tenantId, key, fingerprint }: KeyedRequest,
  execute: () => Promise<string>,
): Promise<Outcome> {
  const name = `alone:${tenantId}:${key}`
  const write = (kept: Kept, ms: number, condition?: 'NX') =>
    redis.set(name, JSON.stringify(kept), {
      expiration: { type: 'PX', value: ms },
      ...(condition === undefined ? {} : { condition }),
    })
  if ((await write({ state: 'started', fingerprint }, IN_PROGRESS_MS, 'NX')) === null) {
    return outcomeOf(await redis.get(name), fingerprint)
  }
  try {
    const answer = await execute()
    await write({ state: 'completed', fingerprint, answer }, COMPLETED_MS)
    return { status: 'executed', answer }
  } catch {
    await redis.del(name)
    return { status: 'failed' }
  }
}

function outcomeOf(text: string | null, fingerprint: string): Outcome {
  // The key was freed a moment ago: the client retries.
  if (text === null) return { status: 'failed' }
  const kept = JSON.parse(text) as Kept
  if (kept.fingerprint !== fingerprint) return { status: 'reused' }
  if (kept.answer === undefined) return { status: 'in_progress' }
  return { status: 'replayed', answer: kept.answer }
}
