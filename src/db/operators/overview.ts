// Reads the overview of operators: the figures of the alerts, what the service does now, and which
// processes run. All viewers of a process share one reading.
import type { Sql } from '../connection/client.ts'
import { together } from '../connection/transaction.ts'
import {
  countRecentOperations,
  listTakeovers,
  listWaitingTenants,
  type OperationCounts,
  type WaitingTenant,
} from './activity-figures.ts'
import { listOpenProposals } from './admin-actions.ts'
import { readWithinLimits, selectHealthFigures, type HealthFigures } from './health-figures.ts'
import { countProposedOperations } from './lists/operation-overviews.ts'
import { listProcesses, type SeenProcess } from './process-reporter.ts'

export interface Overview {
  readonly at: Date
  readonly health: HealthFigures
  readonly recent: OperationCounts
  /** The seconds of each takeover, in any order. */
  readonly takeovers: readonly number[]
  readonly waiting: readonly WaitingTenant[]
  /** The unknown outcomes about which a proposal waits for a second operator. */
  readonly proposed: number
  readonly processes: readonly SeenProcess[]
}

/** How long a reading is shown. */
const KEPT_MS = 1_000

/**
 * Returns a function that reads the overview at most once a second, and never concurrently. It throws
 * as `readWithinLimits` does.
 */
export function createOverviewReader(sql: Sql, monotonicMs: () => number): () => Promise<Overview> {
  let reading: Promise<Overview> | undefined
  let readAtMs = 0
  return () => {
    if (reading === undefined || monotonicMs() - readAtMs >= KEPT_MS) {
      // Until this reading ends, all viewers wait for it.
      readAtMs = Infinity
      reading = readOverview(sql).finally(() => (readAtMs = monotonicMs()))
    }
    return reading
  }
}

async function readOverview(sql: Sql): Promise<Overview> {
  return await readWithinLimits(sql, async (tx) => {
    const [row] = await tx<{ now: string }[]>`select now()`
    const at = new Date(row?.now ?? 0)
    const [health, recent, takeovers, waiting, proposals, processes] = await together([
      selectHealthFigures(tx),
      countRecentOperations(tx, at),
      listTakeovers(tx, at),
      listWaitingTenants(tx),
      listOpenProposals(tx, at),
      listProcesses(tx),
    ])
    const proposed = await countProposedOperations(tx, proposals)
    return { at, health, recent, takeovers, waiting, proposed, processes }
  })
}
