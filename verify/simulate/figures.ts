// The measurements of a run: the latencies of calls and the reasons of retries.
import type { Retry } from '../../client/retry.ts'

export interface Figures {
  /** Latency of each call in milliseconds, including its retries. */
  readonly latencies: Map<string, number[]>
  /** Number of retries by reason. */
  readonly retries: Map<string, number>
  /** Number of requests; each try counts. */
  requests: number
  /** Number of replays. */
  replays: number
  /** Number of connections that clients dropped. */
  drops: number
}

export function startFigures(): Figures {
  return { latencies: new Map(), retries: new Map(), requests: 0, replays: 0, drops: 0 }
}

export function countRetry({ retries }: Figures, { after }: Retry): void {
  const reason =
    after.kind === 'no_answer' ? 'no answer' : `${after.status} ${after.problem ?? 'no problem'}`
  retries.set(reason, (retries.get(reason) ?? 0) + 1)
}

export function countLatency({ latencies }: Figures, what: string, ms: number): void {
  const known = latencies.get(what)
  if (known === undefined) latencies.set(what, [ms])
  else known.push(ms)
}
