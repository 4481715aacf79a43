// What the tables have in common: column types, and the parts of constraints that come from the domain.
import { sql } from 'drizzle-orm'
import { bigint, customType, timestamp } from 'drizzle-orm/pg-core'

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
export const moment = (name: string) => timestamp(name, { withTimezone: true })
export const minor = (name: string) => bigint(name, { mode: 'number' })
export const oneOf = (values: readonly string[]) =>
  sql.raw(values.map((value) => `'${value}'`).join(', '))

/** Every pair of a status and one that may follow it, for a CHECK on the two columns. */
export const stepsOf = (transitions: Record<string, readonly string[]>) =>
  sql.raw(
    Object.entries(transitions)
      .flatMap(([from, next]) => next.map((to) => `('${from}', '${to}')`))
      .join(', '),
  )
