// Carries out what the timetable has planned.
import { openRefundStatuses } from './refund.ts'
import { settleRefund } from './settle-refund.ts'
import type { Storage } from './storage.ts'

/** A change that came another way before is skipped, for example one of a control route. */
export function settleDue(storage: Storage, nowMs: number): void {
  for (const { seq, refund: id, status } of storage.timetable.due(nowMs)) {
    const refund = storage.objects.find('refund', id)
    const isOpen = refund !== undefined && openRefundStatuses.includes(refund.status)
    if (isOpen && refund.status !== status) settleRefund(storage, id, { status }, nowMs)
    storage.timetable.remove(seq)
  }
}
