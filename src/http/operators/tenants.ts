// The endpoints below /admin/tenants and /admin/keys: tenants, their limits and their API keys.
import { z } from 'zod'
import { countActiveKeys, countStoredKeys } from '../../db/idempotency/idempotency-keys.ts'
import type { Transaction } from '../../db/connection/client.ts'
import {
  findApiKey,
  insertApiKey,
  listApiKeys,
  makeApiKey,
  revokeKeyIfNotRevoked,
  rotateKeyIfActive,
} from '../../db/tenants/api-keys.ts'
import {
  changeTenantLimits,
  findTenant,
  findTenantLimits,
  insertTenant,
  listTenants,
} from '../../db/tenants/tenants.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import {
  EVERY_SCOPE,
  grantableScopes,
  ROTATION_GRACE_SECONDS,
  ROTATION_GRACE_SECONDS_MAX,
} from '../../domain/tenants/api-key.ts'
import {
  KEY_LENGTH_MIN_MAX,
  type LimitName,
  type TenantLimits,
  showTenantId,
  TENANT_NAME,
  type Tenant,
} from '../../domain/tenants/tenant.ts'
import { withinStoreTimeout, type ServiceParts } from '../endpoint.ts'
import type { Endpoints } from '../contracts/contract.ts'
import {
  idField,
  shownCount,
  shownFlag,
  shownText,
  timeField,
  render,
  type Json,
} from '../contracts/fields.ts'
import { textField } from '../requests/validate-body.ts'
import { showJson } from '../responses/answer.ts'
import { readOne, readList, presentOne } from '../contracts/reads.ts'
import { adminCommand } from './commands.ts'

const apiKeyShape = z.object({
  id: idField('key', 'The id of the API key.'),
  object: z.literal('api_key'),
  tenant: idField('tnt', 'The tenant that the API key belongs to.'),
  prefix: shownText('The public beginning of the key, by which people can recognize it.'),
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

const newApiKeyShape = apiKeyShape.extend({
  secret: shownText('The API key itself. It is returned only in this response.'),
})

const newApiKeySchema = newApiKeyShape.meta({ id: 'NewApiKey' })

const scopesField = z
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
  name: shownText('The name of the tenant, for people.'),
  fees: z.object({
    basis_points: shownCount('The proportional fee, in hundredths of a percent of a capture.'),
    fixed_minor: shownCount('The fixed fee per capture, in the smallest unit of the currency.'),
  }),
  requires_reference: shownFlag('Whether every new payment and refund must have a reference.'),
  providers: z
    .array(
      z.object({
        provider: shownText('The name of the provider.'),
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
  created_at: timeField('When the tenant was created.'),
  disabled_at: timeField(
    'When the tenant was disabled. Its API keys do not work since then.',
  ).nullable(),
})

export const tenant = {
  prefix: 'tnt',
  schema: tenantShape.meta({ id: 'Tenant' }),
  idInPath: 'The id of the tenant.',
  find: findTenant,
  present: ({ feeBasisPoints: basis_points, feeFixedMinor: fixed_minor, ...others }: Tenant) =>
    render(tenantShape, { ...others, fees: { basis_points, fixed_minor } }),
} as const

const newTenantSchema = tenantShape.extend({ api_key: newApiKeySchema }).meta({ id: 'NewTenant' })

const limitShape = z.object({
  limit: shownCount('The limit that applies; null for none.').nullable(),
  own: shownFlag(
    'Whether the tenant has a limit of its own. Otherwise the setting of the service applies.',
  ),
})

const keyLimit = limitShape
  .extend({
    used: shownCount(
      'How many there are now. The count stops at the limit, or at 1,000,000 without one.',
    ),
  })
  .meta({ id: 'KeyLimit' })

const rateLimit = limitShape
  .extend({
    window_seconds: shownCount('The time in which the limit applies.'),
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

/** Makes an API key, and returns it with its secret. */
async function makeKey(tx: Transaction, tenantId: string, scopes: readonly string[]) {
  const secret = makeApiKey()
  return { ...(await insertApiKey(tx, { tenantId, secret, scopes })), secret }
}

const createTenantBody = z.strictObject({
  name: textField({ min: 1, max: 200 }, z.string().trim())
    .refine((name) => TENANT_NAME.test(name), { error: 'must have no control characters' })
    .describe('A name for people. It does not have to be unique.'),
  scopes: scopesField,
})

/** Where the count of keys stops without a limit: counting more would take seconds. */
const COUNT_MOST = 1_000_000

async function readLimits(parts: ServiceParts, id: string): Promise<Json> {
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
  return {
    object: 'tenant_limits',
    tenant: showTenantId(id),
    active_keys: { ...active, used: usedActive },
    stored_keys: { ...stored, used: usedStored },
    key_length_min: limitOf(parts, own, 'KEY_LENGTH_MIN'),
    writes: { ...limitOf(parts, own, 'RATE_LIMIT_WRITES'), ...window },
    reads: { ...limitOf(parts, own, 'RATE_LIMIT_READS'), ...window },
  }
}

function limitOf(
  { settings }: ServiceParts,
  own: TenantLimits,
  name: LimitName,
): { readonly limit: number | null; readonly own: boolean } {
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

const apiKey = {
  prefix: 'key',
  schema: apiKeyShape.meta({ id: 'ApiKey' }),
  idInPath: 'The id of the API key, not the key itself.',
  find: findApiKey,
} as const

const rotatedApiKeySchema = newApiKeyShape
  .extend({ replaces: idField('key', 'The id of the key that this one replaces.') })
  .meta({ id: 'RotatedApiKey' })

const addApiKeyBody = z.strictObject({ scopes: scopesField })

const rotateApiKeyBody = z.strictObject({
  grace_seconds: z
    .int()
    .min(0)
    .max(ROTATION_GRACE_SECONDS_MAX)
    .default(ROTATION_GRACE_SECONDS)
    .describe(
      `The number of seconds for which the old key continues to work. ${ROTATION_GRACE_SECONDS} by default.`,
    ),
})

const forgetKeys = ({ apiKeyCache }: ServiceParts): void => apiKeyCache.forget()

export const tenantEndpoints: Endpoints = {
  'POST /admin/tenants': adminCommand({
    operationId: 'createTenant',
    summary: 'Create a tenant',
    description:
      'Creates a tenant together with its first API key. The secret of the key is returned only in this response.',
    action: 'tenant.create',
    body: {
      schema: createTenantBody.meta({ id: 'CreateTenant' }),
      example: { name: 'Merchant', scopes: ['*'] },
    },
    async work({ parts, tx, body: { name, scopes } }) {
      const made = await insertTenant(tx, name)
      const key = await makeKey(tx, made.id, scopes)
      const api_key = render(newApiKeySchema, key)
      return {
        answer: { ...presentOne(tenant, made, parts), api_key },
        subject: showTenantId(made.id),
        details: { result: 'made', name, key: api_key['id'], scopes },
      }
    },
    answers: { 201: { description: 'The tenant, with its API key.', schema: newTenantSchema } },
  }),
  'GET /admin/tenants': readList({
    operationId: 'listTenants',
    summary: 'List tenants',
    description: 'Returns all tenants, newest first.',
    of: tenant,
    read: ({ store }, page) => listTenants(store.sql, page),
    answer: 'A page of tenants.',
  }),
  'GET /admin/tenants/:id': readOne({
    operationId: 'getTenant',
    summary: 'Retrieve a tenant',
    description: 'Returns a tenant. `npm run tenants` changes its fees and its rules.',
    of: tenant,
    answer: 'The tenant.',
  }),
  'GET /admin/tenants/:id/limits': readOne({
    operationId: 'getTenantLimits',
    summary: 'Read the limits of a tenant',
    description: 'Returns the limits that apply to a tenant, and how much of them it uses.',
    of: tenant,
    show: (parts, { id }) => readLimits(parts, id),
    answer: 'The limits.',
    schema: tenantLimitsSchema,
  }),
  'POST /admin/tenants/:id/limits': adminCommand({
    operationId: 'changeTenantLimits',
    summary: 'Change the limits of a tenant',
    description:
      'Sets the least length of the new idempotency keys of a tenant. It holds at once. `npm run tenants -- limits` changes the other limits.',
    action: 'tenant.limits',
    on: tenant,
    body: {
      schema: changeLimitsBody.meta({ id: 'ChangeTenantLimits' }),
      example: { key_length_min: 36 },
    },
    async work({ parts, tx, body: { key_length_min: KEY_LENGTH_MIN }, found: { id } }) {
      await changeTenantLimits(tx, id, { KEY_LENGTH_MIN })
      return {
        answer: async () => showJson(await readLimits(parts, id)),
        details: { result: 'set', KEY_LENGTH_MIN },
      }
    },
    after: forgetKeys,
    answers: { 200: { description: 'All limits.', schema: tenantLimitsSchema } },
  }),
  'POST /admin/tenants/:id/keys': adminCommand({
    operationId: 'addApiKey',
    summary: 'Create an API key',
    description:
      'Creates another API key for a tenant. The secret of the key is returned only in this response.',
    action: 'api_key.add',
    on: tenant,
    body: {
      schema: addApiKeyBody.meta({ id: 'AddApiKey' }),
      mayOmit: true,
      example: { scopes: ['payments:read'] },
    },
    // A repeated request creates another key. An operator who lost the answer finds the first key in
    // the list, without its secret, and revokes it.
    async work({ tx, body: { scopes }, found }) {
      const answer = render(newApiKeySchema, await makeKey(tx, found.id, scopes))
      return { answer, details: { result: 'made', key: answer['id'], scopes } }
    },
    answers: { 201: { description: 'The API key, with its secret.', schema: newApiKeySchema } },
  }),
  'GET /admin/tenants/:id/keys': readList({
    operationId: 'listApiKeys',
    summary: 'List the API keys of a tenant',
    description:
      'Returns the API keys of a tenant, newest first. Expired and revoked keys are included; secrets are not.',
    of: apiKey,
    below: tenant,
    read: ({ store }, page, _filters, { owner: { id } }) => listApiKeys(store.sql, id, page),
    answer: 'A page of API keys, without secrets.',
  }),
  'POST /admin/keys/:id/rotate': adminCommand({
    operationId: 'rotateApiKey',
    summary: 'Rotate an API key',
    description:
      'Creates an API key with the same scopes that replaces this one. The old key continues to work for `grace_seconds`, so that clients can switch without an interruption. The secret of the new key is returned only in this response.',
    action: 'api_key.rotate',
    on: apiKey,
    body: {
      schema: rotateApiKeyBody.meta({ id: 'RotateApiKey' }),
      mayOmit: true,
      example: { grace_seconds: 3600 },
    },
    async work({ tx, body: { grace_seconds }, found: old }) {
      const replacement = await rotateKeyIfActive(tx, old, grace_seconds)
      if (replacement === undefined) throw new ProblemError('api-key-ended')
      const { key, secret } = replacement
      const answer = render(rotatedApiKeySchema, { ...key, secret, replaces: old.id })
      return { answer, details: { result: 'rotated', key: answer['id'], grace_seconds } }
    },
    after: forgetKeys,
    answers: {
      201: { description: 'The new API key, with its secret.', schema: rotatedApiKeySchema },
    },
    problems: ['api-key-ended'],
  }),
  'DELETE /admin/keys/:id': adminCommand({
    operationId: 'revokeApiKey',
    summary: 'Revoke an API key',
    description: 'Revokes an API key. A revoked key cannot be activated again.',
    action: 'api_key.revoke',
    on: apiKey,
    async work({ tx, found: { id } }) {
      const revoked = await revokeKeyIfNotRevoked(tx, id)
      return { details: { result: revoked ? 'revoked' : 'revoked before' } }
    },
    after: forgetKeys,
    answers: { 204: { description: 'The API key is revoked, or was revoked before.' } },
  }),
}
