// POST /admin/tenants/:id/limits: sets the least length of a tenant's new idempotency keys. The other
// limits are for the owner of the database: `npm run tenants -- limits`.
import { z } from 'zod'
import { setKeyLengthMin } from '../../db/tenants/tenant-limits.ts'
import { KEY_LENGTH_MIN_MAX } from '../../domain/tenants/tenant-limits.ts'
import { adminCommand } from '../admin/admin-commands.ts'
import { showTenantLimits } from './tenant-limits-get.ts'
import { findRequestedTenant, namedTenant } from './tenants-find.ts'

export const changeLimitsBody = z.strictObject({
  key_length_min: z
    .int()
    .min(1)
    .max(KEY_LENGTH_MIN_MAX)
    .nullable()
    .describe(
      'The least number of characters of a new idempotency key. Null resets it to the setting of the service. A retry with a shorter key that is stored is served.',
    ),
})

export const changeTenantLimitsEndpoint = adminCommand({
  action: 'tenant.limits',
  subject: namedTenant,
  body: changeLimitsBody,
  async work(parts, tx, { request, body: { key_length_min: length } }) {
    const { id } = await findRequestedTenant(tx, request)
    await setKeyLengthMin(tx, id, length)
    return {
      answer: () => showTenantLimits(parts, id),
      details: { result: 'set', KEY_LENGTH_MIN: length },
    }
  },
  after: ({ apiKeyCache }) => apiKeyCache.forget(),
})
