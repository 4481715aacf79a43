// The endpoints for API keys of tenants: below /admin/tenants/:id/keys and /admin/keys.
import { z } from 'zod'
import {
  findApiKey,
  listApiKeys,
  revokeKeyIfNotRevoked,
  rotateKeyIfActive,
} from '../../db/tenants/api-keys.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { ROTATION_GRACE_SECONDS, ROTATION_GRACE_SECONDS_MAX } from '../../domain/tenants/api-key.ts'
import type { ServiceParts } from '../endpoint.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { idField } from '../contracts/fields.ts'
import { adminList } from '../contracts/reads.ts'
import { render } from '../contracts/render.ts'
import { adminCommand } from './commands.ts'
import {
  apiKeyShape,
  makeKey,
  newApiKeySchema,
  newApiKeyShape,
  scopesField,
  tenant,
} from './tenants.ts'

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

export const apiKeyEndpoints: Endpoints = {
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
  'GET /admin/tenants/:id/keys': adminList({
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
