// Reads and sets the limits that a tenant has of its own.
import type { LimitName, TenantLimits } from '../../domain/tenants/tenant-limits.ts'
import { announceEndedKeys } from '../connection/notifications.ts'
import { asTenant } from '../connection/transaction.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'

/** A number, or null to reset a limit to the setting. The others stay as they are. */
export type LimitsChange = { readonly [Name in LimitName]?: number | null }

/** The limits of a row of `tenants` as one object, without those that it does not have. */
export const ownLimits = (sql: Sql | Transaction): Fragment => sql`
  jsonb_strip_nulls(jsonb_build_object(
    'RATE_LIMIT_WRITES', rate_limit_writes, 'RATE_LIMIT_READS', rate_limit_reads,
    'MAX_ACTIVE_KEYS', max_active_keys, 'MAX_STORED_KEYS', max_stored_keys,
    'KEY_LENGTH_MIN', key_length_min
  ))
`

/** The limits of a tenant. Undefined when there is no such tenant. */
export async function findTenantLimits(
  sql: Sql,
  tenantId: string,
): Promise<TenantLimits | undefined> {
  const [row] = await asTenant(sql, tenantId)<{ limits: TenantLimits }[]>`
    select ${ownLimits(sql)} as limits from tenants where id = ${tenantId}
  `
  return row?.limits
}

/**
 * Changes limits, and returns all of the tenant. Undefined when there is no such tenant. API
 * processes read them with the API key, so that they forget the keys that they have cached.
 */
export async function changeTenantLimits(
  sql: Sql | Transaction,
  tenantId: string,
  change: LimitsChange,
): Promise<TenantLimits | undefined> {
  const columns = Object.entries(change).map(([name, value]) => [name.toLowerCase(), value])
  const [row] = await asTenant(sql, tenantId)<Record<string, number | null>[]>`
    update tenants set ${sql(Object.fromEntries(columns))}
    where id = ${tenantId}
    returning rate_limit_writes, rate_limit_reads, max_active_keys, max_stored_keys, key_length_min
  `
  if (row === undefined) return undefined
  await announceEndedKeys(sql)
  const own = Object.entries(row).filter(([, value]) => value !== null)
  return Object.fromEntries(own.map(([column, value]) => [column.toUpperCase(), value]))
}

/**
 * Sets the least length of a tenant's new idempotency keys, or with null resets it. The service may
 * change no other limit. False when there is no such tenant.
 */
export async function setKeyLengthMin(
  sql: Sql | Transaction,
  tenantId: string,
  length: number | null,
): Promise<boolean> {
  const { count } = await asTenant(sql, tenantId)`
    update tenants set key_length_min = ${length} where id = ${tenantId}
  `
  if (count === 1) await announceEndedKeys(sql)
  return count === 1
}
