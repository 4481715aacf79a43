// What the store in memory is held to: the same rows and the same statements on PostgreSQL.
import type { Sql } from '../../../src/db/connection/client.ts'
import type { Database } from './database.ts'
import { decodeBytes, type Row, type Value } from './rows.ts'

/** The tables in which programs leave something. */
const TABLES_TO_EMPTY = [
  'idempotency_keys',
  'refunds',
  'payments',
  'phase_runs',
  'ledger_postings',
  'events',
  'key_tombstones',
  'reconciliation_findings',
  'pgboss.job',
  'tenants',
]
const TABLES_TO_FILL = ['tenants', 'payments', 'refunds', 'idempotency_keys'] as const

/** @param database the rows of what has to be there before; moments count from now. */
export async function fillStore(sql: Sql, database: Database): Promise<void> {
  await sql.unsafe(`truncate ${TABLES_TO_EMPTY.join()} cascade`)
  for (const table of TABLES_TO_FILL) {
    const rows = (database[table] ?? []).map(toTimestamps)
    if (rows.length === 0) continue
    await sql.unsafe(
      `insert into ${table} select * from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
      [JSON.stringify(rows)],
    )
  }
}

/** Moments are counted from now. */
function toTimestamps(row: Row): Row {
  const now = Date.now()
  const entries = Object.entries(row).map(([name, value]) => {
    const isMoment = name.endsWith('_at') && typeof value === 'number'
    return [name, isMoment ? new Date(now + value * 1_000).toISOString() : value]
  })
  return Object.fromEntries(entries) as Row
}

/** Sends a statement, whose parameters are those of the model. */
export function sendStatement(sql: Sql, text: string, parameters: readonly Value[]) {
  const strings = text.split(/\$\d+/)
  const template = Object.assign(strings, { raw: strings }) as unknown as TemplateStringsArray
  return sql(template, ...(parameters.map((value) => decodeBytes(value)) as never[]))
}
