// Fills PostgreSQL with the model's rows and sends it the model's statements, to compare the
// in-memory store with it.
import type { Sql } from '../../../src/db/connection/client.ts'
import type { Database } from './database.ts'
import { decodeBytes, type Row, type Value } from './rows.ts'

/** Every table that programs write to. */
const TABLES_TO_EMPTY = [
  'idempotency_keys',
  'disputes',
  'refunds',
  'payments',
  'phase_runs',
  'ledger_postings',
  'events',
  'provider_events',
  'key_tombstones',
  'reconciliation_findings',
  'atomic_jobs.job',
  'tenants',
]
const TABLES_TO_FILL = ['tenants', 'payments', 'refunds', 'idempotency_keys'] as const

/** @param database the initial rows; their timestamps are relative to now. */
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

/** Replaces seconds relative to now by timestamps. */
function toTimestamps(row: Row): Row {
  const now = Date.now()
  const entries = Object.entries(row).map(([name, value]) => {
    const isTimestamp = name.endsWith('_at') && typeof value === 'number'
    return [name, isTimestamp ? new Date(now + value * 1_000).toISOString() : value]
  })
  return Object.fromEntries(entries) as Row
}

/** Sends a statement with the parameters of the model. */
export function sendStatement(sql: Sql, text: string, parameters: readonly Value[]) {
  const strings = text.split(/\$\d+/)
  const template = Object.assign(strings, { raw: strings }) as unknown as TemplateStringsArray
  return sql(template, ...(parameters.map((value) => decodeBytes(value)) as never[]))
}
