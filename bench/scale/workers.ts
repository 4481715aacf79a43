// Measures the throughput of one to four worker processes. All of them run from the start, and the
// surplus is paused, so that the numbers of workers can be measured in turn.
import { runRounds, type Measurement, type RoundParts, type Row } from '../speed/rounds.ts'
import type { Services } from '../stack.ts'
import { withPaused } from './paused-processes.ts'

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
  const silent = { ...all, progress: { ...parts.progress, begin: () => () => {} } }
  const progressed = parts.progress.begin('Workers', rounds * WORKERS_MAX)
  const rows: WorkersRow[] = []
  for (let round = 1; round <= rounds; round += 1) {
    for (const workers of inRoundOrder(round)) {
      // `runRounds` waits until all operations are completed, so a paused worker owns none.
      await withPaused(pids.slice(workers), async () => {
        const [row] = await runRounds(silent, [measurement], 1)
        if (row !== undefined) rows.push({ ...row, round, workers })
      })
      progressed(rows.length)
    }
  }
  return rows
}

function inRoundOrder(round: number): number[] {
  const numbers = Array.from({ length: WORKERS_MAX }, (_, index) => index + 1)
  return round % 2 === 1 ? numbers : numbers.toReversed()
}
