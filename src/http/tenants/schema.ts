// Tenants and their API keys as operators are shown them, described for openapi.yaml.
import { z } from 'zod'
import { grantableScopes } from '../../domain/tenants/api-key.ts'
import { idField, timeField } from '../contracts/fields.ts'

const tenantShape = z.object({
  id: idField('tnt', 'Names the tenant.'),
  object: z.literal('tenant'),
  name: z.string(),
  fees: z.object({ basis_points: z.int(), fixed_minor: z.int() }),
  created_at: timeField('When it was made.'),
  disabled_at: timeField('Since when its keys work no more.').nullable(),
})

export const tenantSchema = tenantShape.meta({ id: 'Tenant' })

const apiKeyShape = z.object({
  id: idField('key', 'Names the API key.'),
  object: z.literal('api_key'),
  tenant: idField('tnt', 'Whose key it is.'),
  prefix: z.string().meta({ description: 'The public part, by which people recognise it.' }),
  scopes: z.array(z.enum(grantableScopes)),
  status: z
    .enum(['active', 'retiring', 'expired', 'revoked'])
    .meta({ description: '`retiring`: it was rotated, and works until it expires.' }),
  created_at: timeField('When it was made.'),
  expires_at: timeField('When it works no more.').nullable(),
  revoked_at: timeField('When it was revoked.').nullable(),
})

export const apiKeySchema = apiKeyShape.meta({ id: 'ApiKey' })

const newApiKeyShape = apiKeyShape.extend({
  secret: z.string().meta({ description: 'The key itself. Shown here and nowhere else.' }),
})

export const newApiKeySchema = newApiKeyShape.meta({ id: 'NewApiKey' })

export const rotatedApiKeySchema = newApiKeyShape
  .extend({ replaces: idField('key', 'The key that retires.') })
  .meta({ id: 'RotatedApiKey' })

export const newTenantSchema = tenantShape
  .extend({ api_key: newApiKeySchema })
  .meta({ id: 'NewTenant' })
