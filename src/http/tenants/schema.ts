// Describes the JSON of tenants, API keys and customers for openapi.yaml.
import { z } from 'zod'
import { grantableScopes } from '../../domain/tenants/api-key.ts'
import { idField, timeField } from '../contracts/fields.ts'

const tenantShape = z.object({
  id: idField('tnt', 'The id of the tenant.'),
  object: z.literal('tenant'),
  name: z.string().meta({ description: 'The name of the tenant, for people.' }),
  fees: z.object({
    basis_points: z
      .int()
      .meta({ description: 'The proportional fee, in hundredths of a percent of a capture.' }),
    fixed_minor: z.int().meta({
      description: 'The fixed fee per capture, in the smallest unit of the currency.',
    }),
  }),
  providers: z
    .array(
      z.object({
        provider: z.string().meta({ description: 'The name of the provider.' }),
        currencies: z
          .array(z.string())
          .optional()
          .meta({ description: 'The currencies that it takes; absent: every currency.' }),
      }),
    )
    .nullable()
    .meta({
      description:
        "The providers of the tenant's new payments, in their order. Null: the provider of the service.",
    }),
  requires_reference: z.boolean().meta({
    description: 'Whether every new payment and refund must have a reference.',
  }),
  created_at: timeField('When the tenant was created.'),
  disabled_at: timeField(
    'When the tenant was disabled. Its API keys do not work since then.',
  ).nullable(),
})

export const tenantSchema = tenantShape.meta({ id: 'Tenant' })

const apiKeyShape = z.object({
  id: idField('key', 'The id of the API key.'),
  object: z.literal('api_key'),
  tenant: idField('tnt', 'The tenant that the API key belongs to.'),
  prefix: z
    .string()
    .meta({ description: 'The public beginning of the key, by which people can recognize it.' }),
  scopes: z
    .array(z.enum(grantableScopes))
    .meta({ description: 'What the key may be used for. `*` stands for every scope.' }),
  status: z.enum(['active', 'retiring', 'expired', 'revoked']).meta({
    description:
      'The status of the key. `retiring`: the key was rotated and works until `expires_at`.',
  }),
  created_at: timeField('When the key was created.'),
  expires_at: timeField(
    'When the key stops working. Null for a key that does not expire.',
  ).nullable(),
  revoked_at: timeField('When the key was revoked.').nullable(),
})

export const apiKeySchema = apiKeyShape.meta({ id: 'ApiKey' })

const newApiKeyShape = apiKeyShape.extend({
  secret: z
    .string()
    .meta({ description: 'The API key itself. It is returned only in this response.' }),
})

export const newApiKeySchema = newApiKeyShape.meta({ id: 'NewApiKey' })

export const rotatedApiKeySchema = newApiKeyShape
  .extend({ replaces: idField('key', 'The id of the key that this one replaces.') })
  .meta({ id: 'RotatedApiKey' })

export const newTenantSchema = tenantShape
  .extend({ api_key: newApiKeySchema })
  .meta({ id: 'NewTenant' })

const customerId = z.string().meta({ description: "The provider's id of the customer." })

export const customerSchema = z
  .object({
    id: customerId,
    object: z.literal('customer'),
    tenant: idField('tnt', 'The tenant that may charge the customer.'),
    assigned_at: timeField('When the customer was assigned to the tenant.'),
  })
  .meta({ id: 'Customer' })

export const assignmentSchema = z
  .object({
    object: z.literal('assignment'),
    tenant: idField('tnt', 'The tenant that may charge the customers.'),
    customers: z.array(customerId).meta({ description: 'The customers of this request.' }),
  })
  .meta({ id: 'CustomerAssignment' })

const limitShape = z.object({
  limit: z.int().nullable().meta({ description: 'The limit that applies; null for none.' }),
  own: z.boolean().meta({
    description:
      'Whether the tenant has a limit of its own. Otherwise the setting of the service applies.',
  }),
})

const keyLimit = limitShape
  .extend({
    used: z.int().meta({
      description:
        'How many there are now. The count stops at the limit, or at 1,000,000 without one.',
    }),
  })
  .meta({ id: 'KeyLimit' })

const rateLimit = limitShape
  .extend({
    window_seconds: z.int().meta({ description: 'The time in which the limit applies.' }),
  })
  .meta({ id: 'RateLimit' })

export const tenantLimitsSchema = z
  .object({
    object: z.literal('tenant_limits'),
    tenant: idField('tnt', 'The tenant that the limits apply to.'),
    active_keys: keyLimit.meta({ description: 'Operations without a final answer.' }),
    stored_keys: keyLimit.meta({ description: 'Idempotency keys, of completed operations too.' }),
    key_length_min: limitShape.meta({
      description: 'The least number of characters of a new idempotency key.',
    }),
    writes: rateLimit.meta({ description: 'Requests that change something.' }),
    reads: rateLimit.meta({ description: 'Requests that read.' }),
  })
  .meta({ id: 'TenantLimits' })
