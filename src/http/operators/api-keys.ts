// The endpoints for API keys of tenants: below /admin/tenants/:id/keys and /admin/keys.
import { z } from 'zod'
import {
  parseKeyId,
  type ApiKey,
  presentNewApiKey,
  showKeyId,
  presentApiKey,
  ROTATION_GRACE_SECONDS,
  ROTATION_GRACE_SECONDS_MAX,
} from '../../domain/tenants/api-key.ts'
import { listOf } from '../contracts/fields.ts'
import type { Request } from 'express'
import {
  findApiKey,
  insertApiKey,
  makeApiKey,
  listApiKeys,
  rotateKeyIfActive,
  revokeKeyIfNotRevoked,
} from '../../db/tenants/api-keys.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { jsonType, showPage } from '../responses/answer.ts'
import { noFields, noBody } from '../requests/body-fields.ts'
import { adminCommand } from './admin-commands.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { parseListQuery } from '../requests/list-query.ts'
import { admin } from '../server/route.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { idInPath } from '../contracts/parameters.ts'
import {
  namedTenant,
  findRequestedTenant,
  tenantInPath,
  apiKeySchema,
  newApiKeySchema,
  rotatedApiKeySchema,
  scopesField,
} from './tenants.ts'

/** Returns the id in the path, for the audit trail; null when it is not an id of an API key. */
function namedKey({ params }: Request): string | null {
  const text = String(params['id'])
  return parseKeyId(text) === undefined ? null : text
}

/** @throws ProblemError resource-not-found. */
async function findRequestedKey(tx: Transaction, { params }: Request): Promise<ApiKey> {
  const id = parseKeyId(String(params['id']))
  const key = id === undefined ? undefined : await findApiKey(tx, id)
  if (key === undefined) throw new ProblemError('resource-not-found')
  return key
}

const addApiKeyBody = z.strictObject({ scopes: scopesField })

const addApiKey = adminCommand({
  action: 'api_key.add',
  subject: namedTenant,
  body: addApiKeyBody,
  // A repeated request creates another key. An operator who lost the answer finds the first key in
  // the list, without its secret, and revokes it.
  async work(_parts, tx, { request, body: { scopes } }) {
    const { id: tenantId } = await findRequestedTenant(tx, request)
    const secret = makeApiKey()
    const key = await insertApiKey(tx, { tenantId, secret, scopes })
    const body = JSON.stringify(presentNewApiKey(key, secret))
    return {
      answer: { status: 201, headers: jsonType, body },
      details: { result: 'made', key: showKeyId(key.id), scopes },
    }
  },
})

const listApiKeysEndpoint: AdminEndpoint = async (parts, request) => {
  const query = parseListQuery(request.query, parseKeyId)
  const { sql } = parts.store
  const { id } = await withinStoreTimeout(parts, findRequestedTenant(sql, request))
  return showPage(await withinStoreTimeout(parts, listApiKeys(sql, id, query)), presentApiKey)
}

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

const rotateApiKey = adminCommand({
  action: 'api_key.rotate',
  subject: namedKey,
  body: rotateApiKeyBody,
  async work(_parts, tx, { request, body: { grace_seconds: graceSeconds } }) {
    const old = await findRequestedKey(tx, request)
    const replacement = await rotateKeyIfActive(tx, old, graceSeconds)
    if (replacement === undefined) throw new ProblemError('api-key-ended')
    const { key, secret } = replacement
    const body = JSON.stringify({ ...presentNewApiKey(key, secret), replaces: showKeyId(old.id) })
    return {
      answer: { status: 201, headers: jsonType, body },
      details: { result: 'rotated', key: showKeyId(key.id), grace_seconds: graceSeconds },
    }
  },
  after: ({ apiKeyCache }) => apiKeyCache.forget(),
})

const revokeApiKey = adminCommand({
  action: 'api_key.revoke',
  subject: namedKey,
  body: noFields,
  async work(_parts, tx, { request }) {
    const { id } = await findRequestedKey(tx, request)
    const revoked = await revokeKeyIfNotRevoked(tx, id)
    const details = { result: revoked ? 'revoked' : 'revoked before' }
    return { answer: { status: 204, body: '' }, details }
  },
  after: ({ apiKeyCache }) => apiKeyCache.forget(),
})

const keyInPath = idInPath('key', 'The id of the API key, not the key itself.')

export const apiKeyEndpoints: Endpoints = {
  'POST /admin/tenants/:id/keys': {
    serve: admin(addApiKey),
    operationId: 'addApiKey',
    tag: 'Operators',
    summary: 'Create an API key',
    description:
      'Creates another API key for a tenant. The secret of the key is returned only in this response.',
    path: tenantInPath,
    body: {
      schema: addApiKeyBody.meta({ id: 'AddApiKey' }),
      mayOmit: true,
      example: { scopes: ['payments:read'] },
    },
    answers: { 201: { description: 'The API key, with its secret.', schema: newApiKeySchema } },
  },
  'GET /admin/tenants/:id/keys': {
    serve: admin(listApiKeysEndpoint),
    operationId: 'listApiKeys',
    tag: 'Operators',
    summary: 'List the API keys of a tenant',
    description:
      'Returns the API keys of a tenant, newest first. Expired and revoked keys are included; secrets are not.',
    path: tenantInPath,
    isList: true,
    answers: {
      200: {
        description: 'A page of API keys, without secrets.',
        schema: listOf('ApiKeyList', apiKeySchema),
      },
    },
  },
  'POST /admin/keys/:id/rotate': {
    serve: admin(rotateApiKey),
    operationId: 'rotateApiKey',
    tag: 'Operators',
    summary: 'Rotate an API key',
    description:
      'Creates an API key with the same scopes that replaces this one. The old key continues to work for `grace_seconds`, so that clients can switch without an interruption. The secret of the new key is returned only in this response.',
    path: keyInPath,
    body: {
      schema: rotateApiKeyBody.meta({ id: 'RotateApiKey' }),
      mayOmit: true,
      example: { grace_seconds: 3600 },
    },
    answers: {
      201: { description: 'The new API key, with its secret.', schema: rotatedApiKeySchema },
    },
    problems: ['api-key-ended'],
  },
  'DELETE /admin/keys/:id': {
    serve: admin(revokeApiKey),
    operationId: 'revokeApiKey',
    tag: 'Operators',
    summary: 'Revoke an API key',
    path: keyInPath,
    body: noBody,
    description: 'Revokes an API key. A revoked key cannot be activated again.',
    answers: { 204: { description: 'The API key is revoked, or was revoked before.' } },
  },
}
