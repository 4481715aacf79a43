// The settings of how long keys and records are kept, and what they need of each other.
import { z } from 'zod'
import { longestRetention, type KeyRetention } from './domain/idempotency/idempotency-key.ts'

const DAY_SECONDS = 24 * 60 * 60

const keySeconds = z.coerce.number().int().min(DAY_SECONDS, 'must be 86400 (24 h) at least')

/** 0 means for ever. */
const days = z.coerce.number().int().min(0).max(36_500)
const daysFrom = (least: number) =>
  days.refine((kept) => kept === 0 || kept >= least, { error: `must be 0, or at least ${least}` })

const OPERATION = /^[a-z0-9_]+\.[a-z0-9_]+$/

/** `refund.create=2592000,payment.capture=604800`. The wiring knows which operations there are. */
const keySecondsByOperation = z
  .string()
  .transform((text) => text.split(',').map(readEntry))
  .refine((entries) => entries.every(({ operation }) => OPERATION.test(operation)), {
    error: 'must be a list of operation=seconds,operation=seconds',
    abort: true,
  })
  .refine((entries) => entries.every(({ seconds }) => keySeconds.safeParse(seconds).success), {
    error: 'must have a whole number of seconds for each operation, 86400 (24 h) at least',
    abort: true,
  })
  .refine((entries) => new Set(entries.map(({ operation }) => operation)).size === entries.length, {
    error: 'must have each operation once',
  })
  .transform((entries): Readonly<Record<string, number>> =>
    Object.fromEntries(
      entries.map(({ operation, seconds }) => [operation, keySeconds.parse(seconds)]),
    ),
  )

function readEntry(text: string): { operation: string; seconds: string } {
  const [operation = '', ...seconds] = text.split('=').map((part) => part.trim())
  return { operation, seconds: seconds.join('=') }
}

export const retentionSettings = {
  KEY_RETENTION_SECONDS: keySeconds.default(DAY_SECONDS),
  KEY_RETENTION_SECONDS_BY_OPERATION: keySecondsByOperation.optional(),
  DELIVERY_RETENTION_DAYS: days.default(30),
  TIMELINE_RETENTION_DAYS: days.default(180),
  EVENT_RETENTION_DAYS: days.default(0),
  AUDIT_RETENTION_DAYS: days.default(0),
  PAYMENT_RETENTION_DAYS: daysFrom(400).default(0),
}

interface KeysAndPayments extends KeyRetention {
  readonly PAYMENT_RETENTION_DAYS: number
}

/** A payment keeps its details for as long as a stored answer that shows them. */
export function coversKeys(settings: KeysAndPayments): boolean {
  const { PAYMENT_RETENTION_DAYS: kept } = settings
  return kept === 0 || longestRetention(settings) <= kept * DAY_SECONDS
}

export const needsCover = {
  path: ['PAYMENT_RETENTION_DAYS'],
  error: 'must be 0, or cover KEY_RETENTION_SECONDS: a stored answer shows its payment',
}

/**
 * The settings of history, by the records that they are about: deliveries that ended, with their
 * attempts; entries of timelines whose operation has its final answer; events that have no delivery any
 * more; what operators did; and of final payments, who paid, what the client wrote about it, the
 * timeline, the events and their deliveries, which are never deleted before 400 days.
 */
export const historySettings = {
  deliveries: 'DELIVERY_RETENTION_DAYS',
  phase_runs: 'TIMELINE_RETENTION_DAYS',
  events: 'EVENT_RETENTION_DAYS',
  admin_actions: 'AUDIT_RETENTION_DAYS',
  payment_details: 'PAYMENT_RETENTION_DAYS',
} as const

export type History = keyof typeof historySettings

/** Those settings, in days; 0 means for ever. */
export type RetentionDays = Readonly<
  Record<(typeof historySettings)[keyof typeof historySettings], number>
>
