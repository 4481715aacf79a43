// GET /admin/tenants/:id/limits: the limits that apply to a tenant, and how much of them it uses.
import { countActiveKeys, countStoredKeys } from '../../db/idempotency/count-keys.ts'
import { findTenantLimits } from '../../db/tenants/tenant-limits.ts'
import type { LimitName, TenantLimits } from '../../domain/tenants/tenant-limits.ts'
import { showTenantId } from '../../domain/tenants/tenant.ts'
import { withinStoreTimeout, type AdminEndpoint, type ApiParts } from '../endpoint.ts'
import { showJson, type Answer } from '../responses/answer.ts'
import { findRequestedTenant } from './tenants-find.ts'

/** Where the count of keys stops without a limit: counting more would take seconds. */
const COUNT_MOST = 1_000_000

export const getTenantLimits: AdminEndpoint = async (parts, request) => {
  const finding = findRequestedTenant(parts.store.sql, request)
  const { id } = await withinStoreTimeout(parts, finding)
  return await showTenantLimits(parts, id)
}

export async function showTenantLimits(parts: ApiParts, id: string): Promise<Answer> {
  const { sql } = parts.store
  const own = (await withinStoreTimeout(parts, findTenantLimits(sql, id))) ?? {}
  const active = limitOf(parts, own, 'MAX_ACTIVE_KEYS')
  const stored = limitOf(parts, own, 'MAX_STORED_KEYS')
  const counts = Promise.all([
    countActiveKeys(sql, id, active.limit ?? COUNT_MOST),
    countStoredKeys(sql, id, stored.limit ?? COUNT_MOST),
  ])
  const [usedActive, usedStored] = await withinStoreTimeout(parts, counts)
  const window = { window_seconds: parts.settings.RATE_LIMIT_WINDOW_SECONDS }
  return showJson({
    object: 'tenant_limits',
    tenant: showTenantId(id),
    active_keys: { ...active, used: usedActive },
    stored_keys: { ...stored, used: usedStored },
    key_length_min: limitOf(parts, own, 'KEY_LENGTH_MIN'),
    writes: { ...limitOf(parts, own, 'RATE_LIMIT_WRITES'), ...window },
    reads: { ...limitOf(parts, own, 'RATE_LIMIT_READS'), ...window },
  })
}

interface Limit {
  readonly limit: number | null
  readonly own: boolean
}

function limitOf({ settings }: ApiParts, own: TenantLimits, name: LimitName): Limit {
  const limit = own[name] ?? settings[name]
  return { limit: limit === 0 ? null : limit, own: own[name] !== undefined }
}
