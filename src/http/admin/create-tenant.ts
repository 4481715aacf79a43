// POST /admin/tenants
import { z } from 'zod'
import { insertApiKey, makeApiKey } from '../../db/tenants/api-keys.ts'
import { insertTenant } from '../../db/tenants/tenants.ts'
import { presentNewApiKey, showKeyId } from '../../domain/tenants/api-key.ts'
import { presentTenant, showTenantId, TENANT_NAME } from '../../domain/tenants/tenant.ts'
import { jsonType } from '../answer.ts'
import { textField } from '../body-fields.ts'
import { adminCommand } from './audited.ts'
import { scopesField } from './requested-tenant.ts'

export const createTenantBody = z.strictObject({
  name: textField({ min: 1, max: 200 }, z.string().trim())
    .refine((name) => TENANT_NAME.test(name), { error: 'must have no control characters' })
    .describe('For people; two tenants may have the same.'),
  scopes: scopesField,
})

export const createTenantEndpoint = adminCommand({
  action: 'tenant.create',
  body: createTenantBody,
  async work(_parts, tx, { body: { name, scopes } }) {
    const tenant = await insertTenant(tx, name)
    const secret = makeApiKey()
    const key = await insertApiKey(tx, { tenantId: tenant.id, secret, scopes })
    const shown = { ...presentTenant(tenant), api_key: presentNewApiKey(key, secret) }
    return {
      answer: { status: 201, headers: jsonType, body: JSON.stringify(shown) },
      subject: showTenantId(tenant.id),
      details: { result: 'made', name, key: showKeyId(key.id), scopes },
    }
  },
})
