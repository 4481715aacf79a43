// Creates, reads, changes and disables tenants.
import { randomUUIDv7 } from 'node:crypto'
import type { FeeSchedule } from '../../domain/ledger/ledger.ts'
import type { Route } from '../../domain/payments/routing.ts'
import {
  type Tenant,
  limitsOf,
  type LimitColumns,
  type LimitName,
  type TenantLimits,
} from '../../domain/tenants/tenant.ts'
import { insertApiKey } from './api-keys.ts'
import type { Sql, Store, Transaction } from '../connection/client.ts'
import { announceEndedKeys } from '../connection/notifications.ts'
import { listOf, type PageRequest } from '../connection/pages.ts'
import { objectsOf, type RowOf } from '../connection/rows.ts'
import { asTenant, inService } from '../connection/transaction.ts'
import type { tenants } from '../schema/tenants.ts'

/** Creates a tenant without fees. Names are for people and need not be unique. */
export async function insertTenant(tx: Transaction, name: string): Promise<Tenant> {
  const inserted = await tx`
    insert into tenants (id, name) values (${randomUUIDv7()}, ${name}) returning *
  `
  // The insert of one row returns the row or throws.
  return objectsOf<Tenant>(inserted)[0] as Tenant
}

/**
 * Creates a tenant with one API key that has every scope, and returns its id.
 *
 * @throws Error when the key does not have the form of an API key.
 */
export async function createTenant(
  { sql }: Store,
  { name, apiKey }: { name: string; apiKey: string },
): Promise<string> {
  return await inService(sql, async (tx) => {
    const { id } = await insertTenant(tx, name)
    await insertApiKey(tx, { tenantId: id, secret: apiKey })
    return id
  })
}

export async function findTenant(sql: Sql | Transaction, id: string): Promise<Tenant | undefined> {
  const found = await asTenant(sql, id)`select * from tenants where id = ${id}`
  return objectsOf<Tenant>(found)[0]
}

export const listTenants = (sql: Sql, request: PageRequest) =>
  listOf<Tenant>(sql, undefined, { table: 'tenants' }, request)

/**
 * Changes columns of a tenant. False when there is no such tenant. API processes read some of them with
 * the API key, so that they forget the keys that they have cached.
 */
export async function changeTenant(
  sql: Sql | Transaction,
  id: string,
  change: Partial<Omit<RowOf<typeof tenants>, 'id' | 'providers'>> & {
    readonly providers?: string | null
  },
): Promise<boolean> {
  const { count } = await asTenant(sql, id)`
    update tenants set ${sql(change as Record<string, never>)} where id = ${id}
  `
  if (count === 1) await announceEndedKeys(sql)
  return count === 1
}

/**
 * Sets the fees of a tenant for future captures. False when there is no such tenant.
 *
 * @throws the driver's error when the fees are negative, or exceed the capture.
 */
export const setTenantFees = (
  sql: Sql | Transaction,
  tenantId: string,
  { basisPoints, fixedMinor }: FeeSchedule,
): Promise<boolean> =>
  changeTenant(sql, tenantId, { fee_basis_points: basisPoints, fee_fixed_minor: fixedMinor })

/** Sets the providers of a tenant's new payments, in their order; null: the provider of the service. */
export const setProviders = (
  sql: Sql | Transaction,
  tenantId: string,
  providers: readonly Route[] | null,
): Promise<boolean> =>
  changeTenant(sql, tenantId, { providers: providers && JSON.stringify(providers) })

/**
 * Disables a tenant, which makes its API keys invalid, or enables it. Undefined when there is no
 * such tenant. A tenant that is already disabled keeps its first `disabledAt`.
 */
export async function setTenantDisabled(
  sql: Sql | Transaction,
  tenantId: string,
  disabled: boolean,
): Promise<Tenant | undefined> {
  const changed = await asTenant(sql, tenantId)`
    update tenants set disabled_at = ${disabled ? sql`least(disabled_at, now())` : null}
    where id = ${tenantId}
    returning *
  `
  if (changed.count === 1) await announceEndedKeys(sql)
  return objectsOf<Tenant>(changed)[0]
}

/** The limits of a tenant. Undefined when there is no such tenant. */
export async function findTenantLimits(
  sql: Sql | Transaction,
  tenantId: string,
): Promise<TenantLimits | undefined> {
  const [row] = await asTenant(sql, tenantId)<LimitColumns[]>`
    select rate_limit_writes, rate_limit_reads, max_active_keys, max_stored_keys, key_length_min
    from tenants where id = ${tenantId}
  `
  return row && limitsOf(row)
}

/**
 * Changes limits, null to the setting, and returns all of the tenant. Undefined when there is no such
 * tenant. The service may change none but the least length of a key.
 */
export async function changeTenantLimits(
  sql: Sql | Transaction,
  tenantId: string,
  change: { readonly [Name in LimitName]?: number | null },
): Promise<TenantLimits | undefined> {
  const columns = Object.entries(change).map(([name, value]) => [name.toLowerCase(), value])
  await changeTenant(sql, tenantId, Object.fromEntries(columns) as Partial<LimitColumns>)
  return await findTenantLimits(sql, tenantId)
}
