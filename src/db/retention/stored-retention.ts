// Stores how long the owner of the database wants history to be kept: the service deletes nothing that is
// younger.
import type { Config } from '../../config.ts'
import type { Sql } from '../connection/client.ts'

/**
 * The settings that are stored, by the records that they are about: deliveries that ended, with their
 * attempts; entries of timelines whose operation has its final answer; events that have no delivery any
 * more; what operators did; and of final payments, who paid, what the client wrote about it, the
 * timeline, the events and their deliveries, which are never deleted before 400 days.
 */
export const retentionSettings = {
  deliveries: 'DELIVERY_RETENTION_DAYS',
  phase_runs: 'TIMELINE_RETENTION_DAYS',
  events: 'EVENT_RETENTION_DAYS',
  admin_actions: 'AUDIT_RETENTION_DAYS',
  payment_details: 'PAYMENT_RETENTION_DAYS',
} as const

export type History = keyof typeof retentionSettings

export type RetentionDays = Pick<Config, (typeof retentionSettings)[keyof typeof retentionSettings]>

/** Stores the retention periods, as the owner of the database: the service may not. */
export async function storeRetention(sql: Sql, days: RetentionDays): Promise<void> {
  const rows = Object.entries(retentionSettings).map(([records, setting]) => ({
    records,
    days: days[setting],
  }))
  await sql`
    insert into retention_periods (records, days)
    select records, days from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as asked (
      records text, days integer
    )
    on conflict (records) do update set days = excluded.days
  `
}
