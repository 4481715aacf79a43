// Which tenants a statement sees: the second wall between them, which Postgres keeps behind our own predicates
// (row-level security, drizzle/0010). A statement names its tenants by one of the conditions below, in the
// WHERE of its main query; one that names none sees no row, and can write none.
//
// The name is set by the statement itself and ends with its transaction, so that it costs no statement more, and
// nothing is left on a connection for whoever has it next, be it behind a pooler. A condition without columns is
// a one-time filter: Postgres checks it above all joins, before it fetches the first row, and so before a policy
// is asked. Were that ever to change, statements would find nothing, and never too much.
import type { Fragment, Sql, Transaction } from './client.ts'

/** The setting that the policies read. */
export const TENANTS_SETTING = 'atomic.tenants'
/** What it holds for a statement that sees all of them. */
export const EVERY_TENANT = '*'

/** The statement sees the rows of this tenant. */
export function seesTenant(sql: Sql | Transaction, tenantId: string): Fragment {
  return sees(sql, `{${tenantId}}`)
}

/** The statement sees the rows of every tenant to whom one of these belongs. */
export function seesTenants(
  sql: Sql | Transaction,
  owned: readonly { readonly tenantId: string }[],
): Fragment {
  const tenantIds = new Set(owned.map(({ tenantId }) => tenantId))
  return sees(sql, `{${[...tenantIds].join(',')}}`)
}

/**
 * The statement sees the rows of all tenants: it is the work of nobody in particular (sweeping, reconciling),
 * an operator's, or it finds out whose a request is.
 */
export function seesEveryTenant(sql: Sql | Transaction): Fragment {
  return sees(sql, EVERY_TENANT)
}

const sees = (sql: Sql | Transaction, tenants: string): Fragment =>
  sql`(select set_config(${TENANTS_SETTING}, ${tenants}, true)) is not null`
