// Keeps what will happen to objects by itself, and when, by the stand-in's clock. It survives a
// restart.
import type { DatabaseSync } from 'node:sqlite'
import type { RefundStatus } from './refunds/refund-status.ts'

interface PlannedRefund {
  readonly refund: string
  readonly status: RefundStatus
}

export interface Timetable {
  /** Milliseconds since 1970. The caller runs it in the transaction of the cause. */
  plan(atMs: number, planned: PlannedRefund): void
  /** What is due, with its number. */
  due(nowMs: number): (PlannedRefund & { readonly seq: number })[]
  remove(seq: number): void
}

/** Opens the timetable, and creates its table if necessary. */
export function openTimetable(database: DatabaseSync): Timetable {
  database.exec(`
    create table if not exists planned (
      seq integer primary key,
      at_ms integer not null,
      refund text not null,
      status text not null
    ) strict`)
  const insert = database.prepare('insert into planned (at_ms, refund, status) values (?, ?, ?)')
  const due = database.prepare('select * from planned where at_ms <= ? order by at_ms, seq')
  const remove = database.prepare('delete from planned where seq = ?')
  return {
    plan: (atMs, { refund, status }) => void insert.run(atMs, refund, status),
    due: (nowMs) =>
      due.all(nowMs).map(({ seq, refund, status }) => ({
        seq: seq as number,
        refund: refund as string,
        status: status as RefundStatus,
      })),
    remove: (seq) => void remove.run(seq),
  }
}
