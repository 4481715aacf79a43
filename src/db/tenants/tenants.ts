// Creates, reads and disables tenants, and sets their fees.
import { randomUUIDv7 } from 'node:crypto'
import type { FeeSchedule } from '../../domain/ledger/ledger.ts'
import type { Route } from '../../domain/payments/routing.ts'
import type { Tenant } from '../../domain/tenants/tenant.ts'
import { insertApiKey } from './api-keys.ts'
import type { Fragment, Sql, Store, Transaction } from '../connection/client.ts'
import { announceEndedKeys } from '../connection/notifications.ts'
import { readPage, type Page, type PageRequest } from '../connection/pages.ts'
import { asTenant, inService } from '../connection/transaction.ts'
import type { RowOf } from '../schema/row-of.ts'
import type { tenants } from '../schema/tenants.ts'

type TenantRow = Omit<
  RowOf<typeof tenants>,
  `rate_limit_${string}` | `max_${string}_keys` | 'key_length_min'
>

const columns = (sql: Sql | Transaction): Fragment => sql`
  id, name, fee_basis_points, fee_fixed_minor, requires_reference, providers, created_at, disabled_at
`

function tenantFromRow(row: TenantRow): Tenant {
  return {
    id: row.id,
    name: row.name,
    feeBasisPoints: row.fee_basis_points,
    feeFixedMinor: row.fee_fixed_minor,
    requiresReference: row.requires_reference,
    providers: row.providers,
    createdAt: new Date(row.created_at),
    disabledAt: row.disabled_at === null ? null : new Date(row.disabled_at),
  }
}

/** Creates a tenant without fees. Names are for people and need not be unique. */
export async function insertTenant(tx: Transaction, name: string): Promise<Tenant> {
  const id = randomUUIDv7()
  const [row] = await tx<TenantRow[]>`
    insert into tenants (id, name)
    select ${id}::uuid, ${name}::text
    returning ${columns(tx)}
  `
  // The insert of one row returns the row or throws.
  return tenantFromRow(row as TenantRow)
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

/** Finds a tenant. */
export async function findTenant(sql: Sql | Transaction, id: string): Promise<Tenant | undefined> {
  const [row] = await asTenant(sql, id)<TenantRow[]>`
    select ${columns(sql)} from tenants where id = ${id}
  `
  return row && tenantFromRow(row)
}

/** Lists all tenants, newest first. Undefined when none has the cursor's id. */
export async function listTenants(
  sql: Sql,
  request: PageRequest,
): Promise<Page<Tenant> | undefined> {
  const entries = sql`from tenants where true`
  const list = { columns: columns(sql), entries, fromRow: tenantFromRow }
  return await inService(sql, (tx) => readPage(tx, list, request))
}

/**
 * Sets the fees of a tenant for future captures. False when there is no such tenant.
 *
 * @throws the driver's error when the fees are negative, or exceed the capture.
 */
export async function setTenantFees(
  sql: Sql | Transaction,
  tenantId: string,
  { basisPoints, fixedMinor }: FeeSchedule,
): Promise<boolean> {
  const { count } = await asTenant(sql, tenantId)`
    update tenants set fee_basis_points = ${basisPoints}, fee_fixed_minor = ${fixedMinor}
    where id = ${tenantId}
  `
  return count === 1
}

/**
 * Sets whether every new payment and refund of a tenant must have a reference. False when there is no
 * such tenant. API processes read it with the API key, so that they forget the keys they have cached.
 */
export async function setRequiresReference(
  sql: Sql | Transaction,
  tenantId: string,
  requiresReference: boolean,
): Promise<boolean> {
  const { count } = await asTenant(sql, tenantId)`
    update tenants set requires_reference = ${requiresReference} where id = ${tenantId}
  `
  if (count === 1) await announceEndedKeys(sql)
  return count === 1
}

/**
 * Sets the providers of a tenant's new payments, in their order; null: the provider of the service.
 * False when there is no such tenant. API processes read them with the API key, so that they forget
 * the keys they have cached.
 */
export async function setProviders(
  sql: Sql | Transaction,
  tenantId: string,
  providers: readonly Route[] | null,
): Promise<boolean> {
  const { count } = await asTenant(sql, tenantId)`
    update tenants
    set providers = ${providers === null ? null : JSON.stringify(providers)}::jsonb
    where id = ${tenantId}
  `
  if (count === 1) await announceEndedKeys(sql)
  return count === 1
}

/**
 * Disables a tenant, which makes its API keys invalid, or enables it. Undefined when there is no
 * such tenant. A tenant that is already disabled keeps its first `disabledAt`.
 */
export async function setTenantDisabled(
  sql: Sql | Transaction,
  tenantId: string,
  disabled: boolean,
): Promise<Tenant | undefined> {
  const [row] = await asTenant(sql, tenantId)<TenantRow[]>`
    update tenants set disabled_at = ${disabled ? sql`least(disabled_at, now())` : null}
    where id = ${tenantId}
    returning ${columns(sql)}
  `
  if (row === undefined) return undefined
  await announceEndedKeys(sql)
  return tenantFromRow(row)
}
