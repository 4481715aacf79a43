// What more worker processes bring. All of them are there from the beginning, and those that are not wanted
// stand still, so that the numbers of workers can take turns.
import { runRounds, type Measurement, type RoundParts, type Row } from '../speed/rounds.ts'
import type { Services } from '../stack.ts'
import { withStandingStill } from './standing-still.ts'

export interface WorkersRow extends Row {
  readonly workers: number
}

const WORKERS_MAX = 4

export async function measureWorkers(
  parts: RoundParts,
  { worker, startWorker }: Services,
  measurement: Measurement,
  rounds: number,
): Promise<WorkersRow[]> {
  const pids = [worker.pid]
  while (pids.length < WORKERS_MAX) pids.push((await startWorker()).pid)
  const all = { ...parts, nodePids: [...parts.nodePids, ...pids.slice(1)] }
  const quiet = { ...all, progress: { ...parts.progress, begin: () => () => {} } }
  const progressed = parts.progress.begin('Workers', rounds * WORKERS_MAX)
  const rows: WorkersRow[] = []
  for (let round = 1; round <= rounds; round += 1) {
    for (const workers of inTurn(round)) {
      // Nothing waits to be done before and after: `runRounds` sees to that.
      await withStandingStill(pids.slice(workers), async () => {
        const [row] = await runRounds(quiet, [measurement], 1)
        if (row !== undefined) rows.push({ ...row, round, workers })
      })
      progressed(rows.length)
    }
  }
  return rows
}

function inTurn(round: number): number[] {
  const numbers = Array.from({ length: WORKERS_MAX }, (_, index) => index + 1)
  return round % 2 === 1 ? numbers : numbers.toReversed()
}
