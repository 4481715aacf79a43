// What tables share: column types, constraints that come from the domain, and the policy of row-level
// security.
import { sql } from 'drizzle-orm'
import {
  bigint,
  customType,
  foreignKey,
  pgPolicy,
  primaryKey,
  text,
  timestamp,
  uuid,
  type AnyPgColumn,
} from 'drizzle-orm/pg-core'
import { EVERY_TENANT, TENANT_POLICY, TENANTS_SETTING } from '../connection/transaction.ts'

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
export const timestamptz = <Name extends string>(name: Name) =>
  timestamp(name, { withTimezone: true })
export const minor = <Name extends string>(name: Name) => bigint(name, { mode: 'number' })
export const textOf = <Name extends string, Value extends string>(
  name: Name,
  values: readonly Value[],
) => text(name, { enum: values as readonly [Value, ...Value[]] })
export const oneOf = (values: readonly string[]) =>
  sql.raw(values.map((value) => `'${value}'`).join(', '))

export const tenantAndId = { tenantId: uuid('tenant_id').notNull(), id: uuid('id').notNull() }

interface OfTenant {
  readonly tenantId: AnyPgColumn
  readonly id: AnyPgColumn
}

export const keyedByTenant = ({ tenantId, id }: OfTenant) => [
  primaryKey({ columns: [tenantId, id] }),
  seenByItsTenant(),
]

/** A foreign key to a row of the same tenant: no row can refer to the row of another one. */
export const refersTo = (
  name: string,
  columns: [AnyPgColumn, AnyPgColumn],
  { tenantId, id }: OfTenant,
) => foreignKey({ name, columns, foreignColumns: [tenantId, id] })

/**
 * The policy that separates tenants a second time (see connection/transaction.ts): a statement reads and
 * writes only the rows of the tenants that it named. The scalar subqueries make Postgres read the
 * setting once per statement, not once per row. The setting is an empty string, not null, after an
 * earlier transaction on the connection set it.
 *
 * The migration of a table has to force the policy by hand: drizzle cannot express that the owner
 * of the table is subject to it too.
 */
export const seenByItsTenant = (column = 'tenant_id') =>
  pgPolicy(TENANT_POLICY, {
    using: sql.raw(
      `(select ${NAMED_TENANTS} = '${EVERY_TENANT}') or ${column} = any ((select nullif(nullif(${NAMED_TENANTS}, '${EVERY_TENANT}'), '')::uuid[])::uuid[])`,
    ),
  })

const NAMED_TENANTS = `current_setting('${TENANTS_SETTING}', true)`
