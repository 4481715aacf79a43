// Renders tenants and API keys as plain text for a terminal.
import { showKeyId, type ApiKey } from '../../domain/tenants/api-key.ts'
import {
  type LimitName,
  type TenantLimits,
  showTenantId,
  type Tenant,
  type Customer,
} from '../../domain/tenants/tenant.ts'

/** The only place where a secret is printed. */
export function showNewKey(key: ApiKey, secret: string): string {
  return `key     ${showKeyId(key.id)}\nscopes  ${key.scopes.join(',')}\napi key ${secret}\n`
}

export function showTenants(tenants: readonly Tenant[]): string {
  const rows = tenants.map((tenant) => [
    showTenantId(tenant.id),
    tenant.createdAt.toISOString(),
    tenant.disabledAt === null ? 'enabled' : 'disabled',
    `${tenant.feeBasisPoints} bp + ${tenant.feeFixedMinor}`,
    tenant.requiresReference ? 'required' : 'optional',
    tenant.name,
  ])
  return showTable(['TENANT', 'CREATED', 'STATUS', 'FEES', 'REFERENCES', 'NAME'], rows)
}

export function showKeys(keys: readonly ApiKey[]): string {
  const rows = keys.map((key) => [
    showKeyId(key.id),
    key.prefix,
    key.createdAt.toISOString(),
    key.status,
    (key.revokedAt ?? key.expiresAt)?.toISOString() ?? '-',
    key.scopes.join(','),
  ])
  return showTable(['KEY', 'BEGINS WITH', 'CREATED', 'STATUS', 'ENDS', 'SCOPES'], rows)
}

export function showLimits(
  limits: readonly { readonly option: string; readonly setting: LimitName }[],
  own: TenantLimits,
): string {
  const rows = limits.map(({ option, setting }) => {
    const value = own[setting]
    return [option, setting, value === 0 ? 'no limit' : String(value ?? 'default')]
  })
  return showTable(['LIMIT', 'SETTING', 'OF THIS TENANT'], rows)
}

export function showCustomers(customers: readonly Customer[]): string {
  const rows = customers.map(({ id, assignedAt }) => [id, assignedAt.toISOString()])
  return showTable(['CUSTOMER', 'ASSIGNED'], rows)
}

/** Each column is as wide as its widest cell. */
function showTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  return [titles, ...rows]
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}
