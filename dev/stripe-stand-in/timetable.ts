// Keeps what will happen to objects by itself, and when, by the stand-in's clock. It survives a
// restart.
import type { DatabaseSync } from 'node:sqlite'
import type { RefundStatus } from './refunds/refund-status.ts'

/** The status that a refund will have. */
interface PlannedRefund {
  readonly refund: string
  readonly status: RefundStatus
}

export type Timetable = ReturnType<typeof openTimetable>

/** Opens the timetable, and creates its table if necessary. */
export function openTimetable(database: DatabaseSync) {
  database.exec(`
    create table if not exists planned (
      seq integer primary key,
      at_ms integer not null,
      refund text not null,
      status text not null
    ) strict`)
  const sql = database.createTagStore()
  return {
    /** Milliseconds since 1970. The caller runs it in the transaction of the cause. */
    plan: (atMs: number, { refund, status }: PlannedRefund) =>
      void sql.run`insert into planned (at_ms, refund, status) values (${atMs}, ${refund}, ${status})`,
    /** What is due, with its number. */
    due: (nowMs: number) =>
      sql.all`select * from planned where at_ms <= ${nowMs} order by at_ms, seq` as unknown as (PlannedRefund & {
        readonly seq: number
      })[],
    remove: (seq: number) => void sql.run`delete from planned where seq = ${seq}`,
  }
}
