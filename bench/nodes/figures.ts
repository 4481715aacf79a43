// The figures of one measurement with several processes, and their medians over the rounds.
import type { Sql } from '../../src/db/connection/client.ts'
import { OTHER_CONNECTIONS } from '../../src/db/operators/safe-database.ts'
import { rounded } from '../spread.ts'

/** Times of processors are in milliseconds for each payment. */
export interface NodesRow {
  readonly round: number
  /** How many API processes, and as many workers. */
  readonly nodes: number
  /** Completed payments. */
  readonly perSecond: number
  /** The time until a payment is completed. */
  readonly medianMs: number
  /** The share of all cores that was used: 0 to 1. */
  readonly busy: number
  readonly apiCpuMs: number
  readonly workerCpuMs: number
  readonly providerCpuMs: number
  readonly postgresCpuMs: number
  /** The most at a time. */
  readonly connections: number
  readonly unexpected: number
}

/** The default of DATABASE_POOL_SIZE. */
const POOL_SIZE = 4

/** The most connections that the settings allow. */
export function connectionsAllowed(nodes: number): number {
  return nodes * (2 * POOL_SIZE + OTHER_CONNECTIONS.api + OTHER_CONNECTIONS.worker)
}

/** Counts the connections of API and worker processes, without those of the benchmark. */
export async function countConnections(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name like 'atomic-payments%'
      and application_name <> 'atomic-payments bench'
  `
  return row?.count ?? 0
}

export type NodesFigures = Omit<NodesRow, 'round' | 'unexpected'>

/** One for each number of processes. */
export function mediansOf(rows: readonly NodesRow[]): NodesFigures[] {
  return [...Map.groupBy(rows, ({ nodes }) => nodes)]
    .toSorted(([one], [other]) => one - other)
    .map(([nodes, own]) => {
      const median = (figure: keyof NodesFigures) => medianOf(own.map((row) => row[figure]))
      return {
        nodes,
        perSecond: median('perSecond'),
        medianMs: median('medianMs'),
        busy: median('busy'),
        apiCpuMs: median('apiCpuMs'),
        workerCpuMs: median('workerCpuMs'),
        providerCpuMs: median('providerCpuMs'),
        postgresCpuMs: median('postgresCpuMs'),
        connections: median('connections'),
      }
    })
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return rounded(sorted[Math.floor(sorted.length / 2)] ?? 0)
}
