// Encrypts stored values of older keys again, with the first key of ENCRYPTION_KEYS. It walks the tables
// by their primary keys, in batches.
import type { Sql, Transaction } from '../db/connection/client.ts'
import { NO_TENANT } from '../db/connection/rows.ts'
import { asService, inTenants, together } from '../db/connection/transaction.ts'
import {
  clientSecret,
  ENCRYPTED,
  endpointSecret,
  EncryptionError,
  responseBody,
  usedEncryption,
  type EncryptedColumn,
} from './encryption.ts'

/** Where values of an encrypted column are stored: the column itself, or one with copies of it. */
export interface StoredColumn {
  /** `<table>.<column>` */
  readonly name: string
  readonly values: EncryptedColumn
  /** The member of a JSON column that has the value. */
  readonly member?: string
  /** The column with the id of the row that the value is bound to. */
  readonly boundTo: string
}

const columnOf = (values: EncryptedColumn, copy: Partial<StoredColumn> = {}): StoredColumn => ({
  name: values.name,
  values,
  boundTo: 'id',
  ...copy,
})

export const storedColumns: readonly StoredColumn[] = [
  columnOf(endpointSecret),
  columnOf(endpointSecret, { name: 'webhook_endpoints.previous_secret' }),
  columnOf(endpointSecret, { name: 'webhook_endpoints.second_previous_secret' }),
  columnOf(endpointSecret, { name: 'webhook_endpoints.third_previous_secret' }),
  columnOf(clientSecret),
  columnOf(clientSecret, { name: 'events.object', member: 'client_secret', boundTo: 'payment_id' }),
  columnOf(responseBody),
]

/** The table, the column and the stored value of a row, for a statement. */
function placeIn(sql: Sql | Transaction, { name, member }: StoredColumn) {
  const [table = '', column = ''] = name.split('.')
  const value = member === undefined ? sql`${sql(column)}` : sql`${sql(column)} ->> ${member}::text`
  return { table: sql(table), column: sql(column), value }
}

export interface RotationCursor {
  readonly tenantId: string
  readonly id: string
}

const FIRST: RotationCursor = { tenantId: NO_TENANT, id: NO_TENANT }

/** A value that another key than the first one has encrypted. */
interface OlderValue extends RotationCursor {
  readonly boundTo: string
  readonly stored: string
}

/**
 * Looks at the next `limit` rows after the cursor, and returns the values that need a rotation, and where
 * the next batch starts; undefined after the last one.
 */
export async function readOlderValues(
  sql: Sql,
  column: StoredColumn,
  { limit, after = FIRST }: { limit: number; after?: RotationCursor | undefined },
) {
  const { table, value } = placeIn(sql, column)
  type Row = Omit<OlderValue, 'stored'> & Record<'stored', string | null>
  const rows = await asService(sql)<Row[]>`
    with looked_at as materialized (
      select tenant_id, id, ${sql(column.boundTo)} as bound_to, ${value} as stored
      from ${table}
      where (tenant_id, id) > (${after.tenantId}::uuid, ${after.id}::uuid)
      order by tenant_id, id
      limit ${limit}
    )
    select
      tenant_id as "tenantId", id, bound_to as "boundTo",
      case when starts_with(stored, ${ENCRYPTED}) and not starts_with(stored, ${usedEncryption().prefix})
        then stored end as stored
    from looked_at
    order by tenant_id, id
  `
  const older = rows.filter((row): row is OlderValue => row.stored !== null)
  const next: RotationCursor | undefined = rows.length < limit ? undefined : rows.at(-1)
  return { older, lookedAt: rows.length, next }
}

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

type ChangedValue = OlderValue & { readonly changed: string }

/**
 * Replaces values, each only if it is still the one that was read: a value that a process has
 * changed in the meantime stays. Returns how many were replaced.
 */
export async function replaceIfUnchanged(
  sql: Sql,
  column: StoredColumn,
  values: readonly ChangedValue[],
): Promise<number> {
  if (values.length === 0) return 0
  const counts = await inTenants(sql, values, (tx) =>
    together(values.map((value) => replaceValue(tx, column, value))),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

async function replaceValue(
  tx: Transaction,
  stored: StoredColumn,
  { tenantId, id, stored: before, changed }: ChangedValue,
): Promise<number> {
  const { table, column, value } = placeIn(tx, stored)
  const { member } = stored
  const replaced =
    member === undefined
      ? tx`${changed}`
      : tx`jsonb_set(${column}, ${[member]}::text[], ${JSON.stringify(changed)}::jsonb)`
  const { count } = await tx`
    update ${table} set ${column} = ${replaced}
    where tenant_id = ${tenantId} and id = ${id} and ${value} = ${before}
  `
  return count
}
