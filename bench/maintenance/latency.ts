// Measures the latency of the API with and without a reaper at full speed. The two alternate in
// rounds, so that a machine that becomes slower or faster affects both.
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from '../../src/db/connection/client.ts'
import type { Progress } from '../progress.ts'
import { drain } from '../speed/unfinished.ts'
import { startLoad, type LoadTimes, type Target } from './load.ts'
import type { Child } from '../child.ts'
import type { ReaperCommand, ReaperReport } from './reaper-main.ts'
import { ensureExpired } from '../seed.ts'
import { rounded, spreadOf, type Spread } from '../spread.ts'

/** The most keys that a reaper handles in a second. */
export const REAPED_PER_SECOND = 40_000

/** Compiles code and opens connections. */
const WARM_UP_SECONDS = 3

export const requestKinds = ['accept', 'get'] as const
type RequestKind = (typeof requestKinds)[number]

interface LatencyOfKind {
  readonly without: Spread
  readonly reaping: Spread
  /** The p99 with reaping divided by the p99 without. */
  readonly ratio: number
  /** The highest p99 of the rounds without reaping divided by the lowest: the noise. */
  readonly noise: number
}

export interface Latency {
  readonly accept: LatencyOfKind
  readonly get: LatencyOfKind
  readonly rounds: readonly Round[]
}

interface Round {
  readonly reaping: boolean
  readonly accept: Spread
  readonly get: Spread
  readonly reaped: ReaperReport | null
}

export interface LatencyParts {
  readonly owner: Sql
  readonly target: Target
  readonly reaper: Child<ReaperCommand, ReaperReport>
  readonly seconds: number
  readonly rounds: number
  readonly progress: Progress
  readonly signal: AbortSignal
}

export async function measureLatency(parts: LatencyParts): Promise<Latency> {
  await runLoad(parts, WARM_UP_SECONDS)
  await drain(parts)
  const progressed = parts.progress.begin('Rounds of load', 2 * parts.rounds)
  const all: { round: Round; times: LoadTimes }[] = []
  for (let number = 1; number <= parts.rounds; number += 1) {
    // Alternates which kind is first.
    for (const reaping of number % 2 === 1 ? [false, true] : [true, false]) {
      all.push(await runRound(parts, reaping))
      progressed(all.length)
    }
  }
  return { ...summarize(all), rounds: all.map(({ round }) => round) }
}

async function runRound(
  parts: LatencyParts,
  reaping: boolean,
): Promise<{ round: Round; times: LoadTimes }> {
  // Both kinds start in the same state, without pending writes of the previous round.
  await ensureExpired(parts.owner, parts.target.tenants, parts.seconds * REAPED_PER_SECOND)
  await parts.owner`checkpoint`
  if (reaping) parts.reaper.tell('go')
  const times = await runLoad(parts, parts.seconds)
  const reaped = reaping ? await parts.reaper.ask('pause') : null
  await drain(parts)
  const round = { reaping, accept: spreadOf(times.acceptMs), get: spreadOf(times.getMs), reaped }
  return { round, times }
}

async function runLoad({ target, signal }: LatencyParts, seconds: number): Promise<LoadTimes> {
  const load = startLoad(target)
  await delay(seconds * 1_000, undefined, { signal })
  return await load.stop()
}

function summarize(all: readonly { round: Round; times: LoadTimes }[]) {
  const summaryOf = (kind: RequestKind): LatencyOfKind => {
    const timesOf = (reaping: boolean) =>
      all
        .filter(({ round }) => round.reaping === reaping)
        .flatMap(({ times }) => (kind === 'accept' ? times.acceptMs : times.getMs))
    const [without, reaping] = [spreadOf(timesOf(false)), spreadOf(timesOf(true))]
    const p99s = all.filter(({ round }) => !round.reaping).map(({ round }) => round[kind].p99)
    return {
      without,
      reaping,
      ratio: rounded(reaping.p99 / without.p99),
      noise: rounded(Math.max(...p99s) / Math.min(...p99s)),
    }
  }
  return { accept: summaryOf('accept'), get: summaryOf('get') }
}
