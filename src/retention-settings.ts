// The settings of how long keys and records are kept, and what they need of each other.
import { z } from 'zod'

const DAY_SECONDS = 24 * 60 * 60

const keySeconds = z.coerce.number().int().min(DAY_SECONDS, 'must be 86400 (24 h) at least')

/** 0 means for ever. */
const days = z.coerce.number().int().min(0).max(36_500)
const daysFrom = (least: number) =>
  days.refine((kept) => kept === 0 || kept >= least, { error: `must be 0, or at least ${least}` })

export const retentionSettings = {
  KEY_RETENTION_SECONDS: keySeconds.default(DAY_SECONDS),
  TOMBSTONE_RETENTION_SECONDS: keySeconds.default(365 * DAY_SECONDS),
  DELIVERY_RETENTION_DAYS: days.default(30),
  TIMELINE_RETENTION_DAYS: days.default(180),
  EVENT_RETENTION_DAYS: days.default(0),
  AUDIT_RETENTION_DAYS: days.default(0),
  PAYMENT_RETENTION_DAYS: daysFrom(400).default(0),
  INBOX_RETENTION_DAYS: daysFrom(31).default(90),
}

interface KeysAndPayments {
  readonly KEY_RETENTION_SECONDS: number
  readonly PAYMENT_RETENTION_DAYS: number
}

/** A payment keeps its details for as long as a stored answer that shows them. */
export function coversKeys({
  KEY_RETENTION_SECONDS: seconds,
  PAYMENT_RETENTION_DAYS: kept,
}: KeysAndPayments): boolean {
  return kept === 0 || seconds <= kept * DAY_SECONDS
}

export const needsCover = {
  path: ['PAYMENT_RETENTION_DAYS'],
  error: 'must be 0, or cover KEY_RETENTION_SECONDS: a stored answer shows its payment',
}
