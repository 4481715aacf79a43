// What the tables have in common: column types, and the parts of constraints that come from the domain.
import { sql } from 'drizzle-orm'
import { bigint, customType, timestamp } from 'drizzle-orm/pg-core'

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
export const moment = (name: string) => timestamp(name, { withTimezone: true })
export const minor = (name: string) => bigint(name, { mode: 'number' })
export const oneOf = (values: readonly string[]) =>
  sql.raw(values.map((value) => `'${value}'`).join(', '))

/**
 * A CHECK that a row begins as `processing`, and that its status may follow the one before it. Postgres reads
 * a constraint anew in each statement that writes the table, and one constant sooner than a list of pairs.
 */
export const takesStepOf = (transitions: Record<string, readonly string[]>) => {
  const steps = Object.entries(transitions).flatMap(([from, next]) =>
    next.map((to) => `${from}>${to}`),
  )
  return sql`case when previous_status is null then status = 'processing'
    else previous_status || '>' || status = any (${sql.raw(`'{${steps.join(',')}}'::text[]`)}) end`
}
