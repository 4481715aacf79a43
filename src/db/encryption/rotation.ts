// Encrypts stored values again, with the first key of ENCRYPTION_KEYS: plain values of an earlier
// version, and values of older keys. It walks the tables by their primary keys, in batches.
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { asService, inTenants, together } from '../connection/transaction.ts'
import { ENCRYPTED, EncryptionError, keyNameOf } from './encryption.ts'
import {
  clientSecret,
  endpointSecret,
  responseBody,
  usedEncryption,
  type EncryptedColumn,
} from './encrypted-values.ts'

/** A column with encrypted values, or a member of a JSON column. */
export interface StoredColumn {
  readonly name: string
  readonly table: string
  readonly values: EncryptedColumn
  readonly read: (sql: Sql | Transaction) => Fragment
  /** What is set when a value changes. */
  readonly write: (tx: Transaction, changed: string) => Fragment
  /** The column with the id of the row that the value is bound to. */
  readonly boundTo: string
}

/**
 * Answers that the service gives in place of an operation's own: timed out, overtaken and dropped.
 * Each is the text of a problem, the same for every tenant, and is stored as it is.
 */
const FIXED_STATUSES = [408, 409, 410]

const endpointColumn = (column: string): StoredColumn => ({
  name: `webhook_endpoints.${column}`,
  table: 'webhook_endpoints',
  values: endpointSecret,
  read: (sql) => sql`${sql(column)}`,
  write: (tx, changed) => tx`${tx(column)} = ${changed}`,
  boundTo: 'id',
})

export const storedColumns: readonly StoredColumn[] = [
  endpointColumn('secret'),
  endpointColumn('previous_secret'),
  endpointColumn('second_previous_secret'),
  endpointColumn('third_previous_secret'),
  {
    name: 'payments.client_secret',
    table: 'payments',
    values: clientSecret,
    read: (sql) => sql`client_secret`,
    write: (tx, changed) => tx`client_secret = ${changed}`,
    boundTo: 'id',
  },
  {
    name: 'events.object',
    table: 'events',
    values: clientSecret,
    read: (sql) => sql`object ->> 'client_secret'`,
    write: (tx, changed) =>
      tx`object = jsonb_set(object, '{client_secret}', ${JSON.stringify(changed)}::jsonb)`,
    boundTo: 'payment_id',
  },
  {
    name: 'idempotency_keys.response_body',
    table: 'idempotency_keys',
    values: responseBody,
    read: (sql) => sql`
      case when starts_with(response_body, ${ENCRYPTED}) or response_status <> all(${FIXED_STATUSES}::smallint[])
        then response_body end`,
    write: (tx, changed) => tx`response_body = ${changed}`,
    boundTo: 'id',
  },
]

export interface RotationCursor {
  readonly tenantId: string
  readonly id: string
}

const FIRST: RotationCursor = {
  tenantId: '00000000-0000-0000-0000-000000000000',
  id: '00000000-0000-0000-0000-000000000000',
}

/** A value that the first key has not encrypted. */
export interface OlderValue extends RotationCursor {
  readonly boundTo: string
  readonly stored: string
}

export interface OlderValues {
  readonly older: readonly OlderValue[]
  /** The number of rows that were looked at. */
  readonly lookedAt: number
  /** Where the next batch starts; undefined after the last one. */
  readonly next: RotationCursor | undefined
}

/** Reads the next `limit` rows after the cursor, and returns the values that need a rotation. */
export async function readOlderValues(
  sql: Sql,
  { table, read, boundTo }: StoredColumn,
  { limit, after = FIRST }: { limit: number; after?: RotationCursor | undefined },
): Promise<OlderValues> {
  const { prefix } = usedEncryption()
  const isOlder = sql`starts_with(stored, ${prefix ?? ENCRYPTED}) = ${prefix === undefined}`
  const rows = await asService(sql)<
    (OlderValue | ({ stored: null } & Omit<OlderValue, 'stored'>))[]
  >`
    with looked_at as materialized (
      select tenant_id, id, ${sql(boundTo)} as bound_to, ${read(sql)} as stored
      from ${sql(table)}
      where (tenant_id, id) > (${after.tenantId}::uuid, ${after.id}::uuid)
      order by tenant_id, id
      limit ${limit}
    )
    select
      tenant_id as "tenantId", id, bound_to as "boundTo", case when ${isOlder} then stored end as stored
    from looked_at
    order by tenant_id, id
  `
  const older = rows.filter((row): row is OlderValue => row.stored !== null)
  return { older, lookedAt: rows.length, next: rows.length < limit ? undefined : rows.at(-1) }
}

/**
 * Replaces values, each only if it is still the one that was read: a value that a process has
 * changed in the meantime stays. Returns how many were replaced.
 */
export async function replaceIfUnchanged(
  sql: Sql,
  column: StoredColumn,
  values: readonly ChangedValue[],
): Promise<number> {
  const counts = await inTenants(sql, values, (tx) =>
    together(values.map((value) => replaceValue(tx, column, value))),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

async function replaceValue(
  tx: Transaction,
  { table, read, write }: StoredColumn,
  { tenantId, id, stored, changed }: ChangedValue,
): Promise<number> {
  const { count } = await tx`
    update ${tx(table)} set ${write(tx, changed)}
    where tenant_id = ${tenantId} and id = ${id} and ${read(tx)} = ${stored}
  `
  return count
}

type ChangedValue = OlderValue & { readonly changed: string }

/** Encrypts values again. Leaves out those that cannot be decrypted. */
export function encryptAgain(
  { values }: StoredColumn,
  older: readonly OlderValue[],
): ChangedValue[] {
  return older.flatMap((value) => {
    const place = { tenantId: value.tenantId, id: value.boundTo }
    try {
      return [{ ...value, changed: values.encrypt(place, values.decrypt(place, value.stored)) }]
    } catch (error) {
      if (error instanceof EncryptionError) return []
      throw error
    }
  })
}

/** Adds the values to the counts by the name of their key; undefined stands for plain values. */
export function countKeys(
  counts: Map<string | undefined, number>,
  older: readonly OlderValue[],
): void {
  for (const { stored } of older) {
    const name = keyNameOf(stored)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
}
