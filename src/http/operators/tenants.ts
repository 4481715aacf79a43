// The endpoints below /admin/tenants: tenants and their limits.
import { z } from 'zod'
import {
  grantableScopes,
  EVERY_SCOPE,
  presentNewApiKey,
  showKeyId,
} from '../../domain/tenants/api-key.ts'
import { idField, timeField, listOf } from '../contracts/fields.ts'
import type { Request } from 'express'
import { insertApiKey, makeApiKey } from '../../db/tenants/api-keys.ts'
import type { Transaction, Sql } from '../../db/connection/client.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { jsonType, showJson, type Answer, showPage } from '../responses/answer.ts'
import { adminCommand } from './admin-commands.ts'
import { withinStoreTimeout, type AdminEndpoint, type ApiParts } from '../endpoint.ts'
import { parseListQuery } from '../requests/list-query.ts'
import { admin } from '../server/route.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { idInPath } from '../contracts/parameters.ts'
import {
  findTenant,
  insertTenant,
  listTenants,
  changeTenantLimits,
  findTenantLimits,
} from '../../db/tenants/tenants.ts'
import {
  parseTenantId,
  type Tenant,
  presentTenant,
  showTenantId,
  TENANT_NAME,
  describeOwners,
} from '../../domain/tenants/tenant.ts'
import { textField } from '../requests/body-fields.ts'
import { countActiveKeys, countStoredKeys } from '../../db/idempotency/idempotency-keys.ts'
import {
  type LimitName,
  type TenantLimits,
  KEY_LENGTH_MIN_MAX,
} from '../../domain/tenants/tenant-limits.ts'
import {
  assignCustomers,
  OwnedElsewhereError,
  type Assignment,
} from '../../db/tenants/provider-customers.ts'

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

export const scopesField = z
  .array(z.enum(grantableScopes))
  .min(1)
  .max(grantableScopes.length)
  .refine((scopes) => new Set(scopes).size === scopes.length, { error: 'A scope is repeated' })
  .default([EVERY_SCOPE])
  .meta({
    description:
      'What the key may be used for. The default, `*`, grants every scope, including scopes of later versions.',
  })

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

const tenantSchema = tenantShape.meta({ id: 'Tenant' })

const newTenantSchema = tenantShape.extend({ api_key: newApiKeySchema }).meta({ id: 'NewTenant' })

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

const tenantLimitsSchema = z
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

/** Returns the id in the path, for the audit trail; null when it is not an id of a tenant. */
export function namedTenant({ params }: Request): string | null {
  const text = String(params['id'])
  return parseTenantId(text) === undefined ? null : text
}

/** @throws ProblemError resource-not-found. */
export async function findRequestedTenant(
  sql: Sql | Transaction,
  { params }: Request,
): Promise<Tenant> {
  const id = parseTenantId(String(params['id']))
  const tenant = id === undefined ? undefined : await findTenant(sql, id)
  if (tenant === undefined) throw new ProblemError('resource-not-found')
  return tenant
}

const createTenantBody = z.strictObject({
  name: textField({ min: 1, max: 200 }, z.string().trim())
    .refine((name) => TENANT_NAME.test(name), { error: 'must have no control characters' })
    .describe('A name for people. It does not have to be unique.'),
  scopes: scopesField,
})

const createTenantEndpoint = adminCommand({
  action: 'tenant.create',
  body: createTenantBody,
  async work(_parts, tx, { body: { name, scopes } }) {
    const tenant = await insertTenant(tx, name)
    const secret = makeApiKey()
    const key = await insertApiKey(tx, { tenantId: tenant.id, secret, scopes })
    const body = JSON.stringify({
      ...presentTenant(tenant),
      api_key: presentNewApiKey(key, secret),
    })
    return {
      answer: { status: 201, headers: jsonType, body },
      subject: showTenantId(tenant.id),
      details: { result: 'made', name, key: showKeyId(key.id), scopes },
    }
  },
})

const listTenantsEndpoint: AdminEndpoint = async (parts, request) => {
  const query = parseListQuery(request.query, parseTenantId)
  const lookup = listTenants(parts.store.sql, query)
  return showPage(await withinStoreTimeout(parts, lookup), presentTenant)
}

const getTenant: AdminEndpoint = async (parts, request) => {
  const finding = findRequestedTenant(parts.store.sql, request)
  return showJson(presentTenant(await withinStoreTimeout(parts, finding)))
}

/** Where the count of keys stops without a limit: counting more would take seconds. */
const COUNT_MOST = 1_000_000

const getTenantLimits: AdminEndpoint = async (parts, request) => {
  const finding = findRequestedTenant(parts.store.sql, request)
  const { id } = await withinStoreTimeout(parts, finding)
  return await showTenantLimits(parts, id)
}

async function showTenantLimits(parts: ApiParts, id: string): Promise<Answer> {
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

const changeLimitsBody = z.strictObject({
  key_length_min: z
    .int()
    .min(1)
    .max(KEY_LENGTH_MIN_MAX)
    .nullable()
    .describe(
      'The least number of characters of a new idempotency key. Null resets it to the setting of the service. A retry with a shorter key that is stored is served.',
    ),
})

const changeTenantLimitsEndpoint = adminCommand({
  action: 'tenant.limits',
  subject: namedTenant,
  body: changeLimitsBody,
  async work(parts, tx, { request, body: { key_length_min: length } }) {
    const { id } = await findRequestedTenant(tx, request)
    await changeTenantLimits(tx, id, { KEY_LENGTH_MIN: length })
    return {
      answer: () => showTenantLimits(parts, id),
      details: { result: 'set', KEY_LENGTH_MIN: length },
    }
  },
  after: ({ apiKeyCache }) => apiKeyCache.forget(),
})

/** @throws ProblemError customer-of-another-tenant. */
export async function assign(tx: Transaction, assignment: Assignment): Promise<void> {
  try {
    await assignCustomers(tx, assignment)
  } catch (error) {
    if (!(error instanceof OwnedElsewhereError)) throw error
    throw new ProblemError('customer-of-another-tenant', { detail: describeOwners(error.owned) })
  }
}

export const tenantInPath = idInPath('tnt', 'The id of the tenant.')

export const tenantEndpoints: Endpoints = {
  'POST /admin/tenants': {
    serve: admin(createTenantEndpoint),
    operationId: 'createTenant',
    tag: 'Operators',
    summary: 'Create a tenant',
    description:
      'Creates a tenant together with its first API key. The secret of the key is returned only in this response.',
    body: {
      schema: createTenantBody.meta({ id: 'CreateTenant' }),
      example: { name: 'Merchant', scopes: ['*'] },
    },
    answers: {
      201: { description: 'The tenant, with its API key.', schema: newTenantSchema },
    },
  },
  'GET /admin/tenants': {
    serve: admin(listTenantsEndpoint),
    operationId: 'listTenants',
    tag: 'Operators',
    summary: 'List tenants',
    description: 'Returns all tenants, newest first.',
    isList: true,
    answers: {
      200: { description: 'A page of tenants.', schema: listOf('TenantList', tenantSchema) },
    },
  },
  'GET /admin/tenants/:id': {
    serve: admin(getTenant),
    operationId: 'getTenant',
    tag: 'Operators',
    summary: 'Retrieve a tenant',
    description: 'Returns a tenant. `npm run tenants` changes its fees and its rules.',
    path: tenantInPath,
    answers: { 200: { description: 'The tenant.', schema: tenantSchema } },
  },
  'GET /admin/tenants/:id/limits': {
    serve: admin(getTenantLimits),
    operationId: 'getTenantLimits',
    tag: 'Operators',
    summary: 'Read the limits of a tenant',
    description: 'Returns the limits that apply to a tenant, and how much of them it uses.',
    path: tenantInPath,
    answers: { 200: { description: 'The limits.', schema: tenantLimitsSchema } },
  },
  'POST /admin/tenants/:id/limits': {
    serve: admin(changeTenantLimitsEndpoint),
    operationId: 'changeTenantLimits',
    tag: 'Operators',
    summary: 'Change the limits of a tenant',
    description:
      'Sets the least length of the new idempotency keys of a tenant. It holds at once. `npm run tenants -- limits` changes the other limits.',
    path: tenantInPath,
    body: {
      schema: changeLimitsBody.meta({ id: 'ChangeTenantLimits' }),
      example: { key_length_min: 36 },
    },
    answers: { 200: { description: 'All limits.', schema: tenantLimitsSchema } },
  },
}
