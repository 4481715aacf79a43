// What a run is measured by: how long calls took, and why requests were sent more than once.
import type { Retry } from '../../client/retry.ts'

export interface Figures {
  /** Milliseconds of each call as its caller sees it, retries included. */
  readonly latencies: Map<string, number[]>
  /** How often each thing was the reason to send a request again. */
  readonly retries: Map<string, number>
  /** Requests, each try counted. */
  requests: number
  /** Answers that were marked as replays. */
  replays: number
  /** Connections that clients have dropped. */
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
