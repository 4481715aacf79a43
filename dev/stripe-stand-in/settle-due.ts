// Carries out what is due: the changes of the timetable, the end of holds, and the requests that
// execute late.
import { expireDueHolds } from './payment-intents/expire-hold.ts'
import type { LateRequests } from './requests/late-requests.ts'
import { openRefundStatuses } from './refunds/refund-status.ts'
import { settleRefund } from './refunds/settle-refund.ts'
import type { Storage } from './storage.ts'

interface Due {
  storage: Storage
  lateRequests: LateRequests
}

/** A change that came another way before is skipped, for example one of a control route. */
export function settleDue({ storage, lateRequests }: Due, nowMs: number): void {
  lateRequests.executeDue(nowMs)
  for (const { seq, refund: id, status } of storage.timetable.due(nowMs)) {
    const refund = storage.objects.find('refund', id)
    const isOpen = refund !== undefined && openRefundStatuses.includes(refund.status)
    if (isOpen && refund.status !== status) {
      storage.change(id, (records) => settleRefund(records, id, { status }, nowMs))
    }
    storage.timetable.remove(seq)
  }
  expireDueHolds(storage, nowMs)
}
