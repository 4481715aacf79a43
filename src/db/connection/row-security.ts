// Declares which tenants a statement sees. Row-level security (drizzle/0000_schema.sql) enforces it,
// behind the predicates of the statement. A transaction names its tenants when it begins: see
// transaction.ts. A statement without a transaction of the caller includes one of the conditions below in
// the WHERE of its main query. What names none reads no row and can write none.
//
// The condition sets a transaction-local setting, so it needs no statement of its own and leaves
// nothing on a connection that a pooler hands to another client. A condition without columns is a
// one-time filter: Postgres evaluates it above all joins, before it fetches the first row and
// before it evaluates a policy. If Postgres ever changed that, statements would find no rows, never
// too many.
import type { Fragment, Sql, TransactionSql as Transaction } from 'postgres'

/** The name of the policy of each table of tenants. */
export const TENANT_POLICY = 'seen_by_its_tenant'
/** The setting that the policies read. */
export const TENANTS_SETTING = 'atomic.tenants'
/** The value of the setting for a statement that sees all tenants. */
export const EVERY_TENANT = '*'

/** The statement sees the rows of this tenant. */
export function seesTenant(sql: Sql | Transaction, tenantId: string): Fragment {
  return sees(sql, `{${tenantId}}`)
}

/** The statement sees the rows of the tenants of these records. */
export function seesTenants(
  sql: Sql | Transaction,
  rows: readonly { readonly tenantId: string }[],
): Fragment {
  const tenantIds = new Set(rows.map(({ tenantId }) => tenantId))
  return sees(sql, `{${[...tenantIds].join(',')}}`)
}

/**
 * The statement sees the rows of all tenants: for background work (the sweeper, the outcome
 * resolver), for operators, and for authentication.
 */
export function seesEveryTenant(sql: Sql | Transaction): Fragment {
  return sees(sql, EVERY_TENANT)
}

/** A transaction names its tenants once: see `inTenant`. */
const sees = (sql: Sql | Transaction, tenants: string): Fragment =>
  'begin' in sql
    ? sql`(select set_config(${TENANTS_SETTING}, ${tenants}, true)) is not null`
    : sql`true`
