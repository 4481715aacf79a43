// Lists the statuses of a refund.

/** https://docs.stripe.com/api/refunds/object#refund_object-status */
export const refundStatuses = [
  'pending',
  'requires_action',
  'succeeded',
  'failed',
  'canceled',
] as const
export type RefundStatus = (typeof refundStatuses)[number]

/** The statuses that a refund can still leave: a refund that succeeded can fail for 30 days. */
export const openRefundStatuses: readonly RefundStatus[] = [
  'pending',
  'requires_action',
  'succeeded',
]
