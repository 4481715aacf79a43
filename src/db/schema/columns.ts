// What the tables have in common: column types, and the parts of constraints that come from the domain.
import { sql } from 'drizzle-orm'
import { bigint, customType, pgPolicy, timestamp } from 'drizzle-orm/pg-core'
import { EVERY_TENANT, TENANTS_SETTING } from '../connection/row-security.ts'

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

/**
 * The second wall between tenants (row-security.ts): a statement sees and writes the rows of the tenants that it has
 * named. What it has named is looked up once in a statement, and not for each row; it is empty, and no null, after
 * another transaction of the connection has named some. The migration of a table has to force the policy by hand,
 * because drizzle cannot say that the table's owner is no exception.
 */
export const seenByItsTenant = (column = 'tenant_id') =>
  pgPolicy('seen_by_its_tenant', {
    using: sql.raw(
      `(select ${NAMED} = '${EVERY_TENANT}') or ${column} = any ((select nullif(nullif(${NAMED}, '${EVERY_TENANT}'), '')::uuid[])::uuid[])`,
    ),
  })

const NAMED = `current_setting('${TENANTS_SETTING}', true)`
