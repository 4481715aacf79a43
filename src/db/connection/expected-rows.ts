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
