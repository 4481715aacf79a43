// The endpoints of API keys: create, list, rotate and revoke them.
import { z } from 'zod'
import {
  insertApiKey,
  makeApiKey,
  listApiKeys,
  rotateKeyIfActive,
  revokeKeyIfNotRevoked,
} from '../../db/tenants/api-keys.ts'
import {
  presentNewApiKey,
  showKeyId,
  parseKeyId,
  presentApiKey,
  ROTATION_GRACE_SECONDS,
  ROTATION_GRACE_SECONDS_MAX,
} from '../../domain/tenants/api-key.ts'
import { jsonType } from '../responses/answer.ts'
import { adminCommand } from '../admin/admin-commands.ts'
import {
  findRequestedTenant,
  namedTenant,
  scopesField,
  findRequestedKey,
  namedKey,
} from './tenants-find.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { parseListQuery } from '../requests/list-query.ts'
import { showPage } from '../responses/page-answer.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { noFields } from '../requests/body-fields.ts'

export const addApiKeyBody = z.strictObject({ scopes: scopesField })

export const addApiKey = adminCommand({
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

export const listApiKeysEndpoint: AdminEndpoint = async (parts, request) => {
  const query = parseListQuery(request.query, parseKeyId)
  const { sql } = parts.store
  const { id } = await withinStoreTimeout(parts, findRequestedTenant(sql, request))
  return showPage(await withinStoreTimeout(parts, listApiKeys(sql, id, query)), presentApiKey)
}

export const rotateApiKeyBody = z.strictObject({
  grace_seconds: z
    .int()
    .min(0)
    .max(ROTATION_GRACE_SECONDS_MAX)
    .default(ROTATION_GRACE_SECONDS)
    .describe(
      `The number of seconds for which the old key continues to work. ${ROTATION_GRACE_SECONDS} by default.`,
    ),
})

export const rotateApiKey = adminCommand({
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

export const revokeApiKey = adminCommand({
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
