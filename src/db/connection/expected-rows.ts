// Tells the planner how many rows to expect, where it cannot know. A prepared statement keeps its plan
// until its tables are analyzed again, however much they grow until then.
import type { Fragment, Sql, Transaction } from './client.ts'

/**
 * A condition on the records of a batch, which all of them fulfil. The planner expects an equality of
 * an expression to hold for one of two hundred rows, and so for one record. It looks one up by its
 * index. For the 10 or 100 records that it expects otherwise it reads the whole table while that is
 * small, and goes on doing so.
 *
 * https://www.postgresql.org/docs/current/row-estimation-examples.html
 */
export const expectOne = (sql: Sql | Transaction): Fragment =>
  sql`where num_nonnulls(tenant_id, id) = 2`

/**
 * The condition that a row is of the tenant, beside one on a column that tells its rows apart. The tenant
 * is named twice, so that the planner expects twice as many rows of it as the mean tenant has. Where that
 * has one row, it would take any index that begins with the tenant for as good as the right one, and read
 * all rows of a busy tenant.
 *
 * @param table the table, or its alias.
 */
export const isOfTenant = (
  sql: Sql | Transaction,
  table: Fragment,
  tenantId: string | number | Fragment,
): Fragment => sql`${table}.tenant_id = any(array[${tenantId}::uuid, ${tenantId}::uuid])`
