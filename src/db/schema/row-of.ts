// The type of a row of a table, as our connections read it: its members have the names of the columns in
// SQL, and timestamps are text.
import type { PgTable } from 'drizzle-orm/pg-core'

/** What `select *` returns for a row. The JSON of a row differs from it only in `bytea`. */
export type RowOf<
  Table extends PgTable,
  Columns extends PgTable['_']['columns'] = Table['_']['columns'],
> = {
  readonly [Member in keyof Columns as Columns[Member]['_']['name']]:
    | (Columns[Member]['_']['data'] extends Date ? string : Columns[Member]['_']['data'])
    | (Columns[Member]['_']['notNull'] extends true ? never : null)
}
