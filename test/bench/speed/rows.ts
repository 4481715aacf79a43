// Builds measurement rows for tests. A test sets only the figures that it is about.
import type { Row } from '../../../bench/speed/rounds.ts'

export function rowOf(row: Partial<Omit<Row, 'latencyMs'>> & { p50?: number; p99?: number }): Row {
  const { p50 = 1, p99 = 2, ...others } = row
  return {
    subject: 'accept',
    concurrency: 16,
    round: 1,
    perSecond: 100,
    latencyMs: { count: 10, median: p50, p95: p99, p99, max: p99 },
    unexpected: 0,
    non2xx: 0,
    nodeCpuMs: 1,
    postgresCpuMs: 1,
    ...others,
  }
}
