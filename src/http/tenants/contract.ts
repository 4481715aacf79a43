// The contracts of the endpoints by which operators make tenants and their API keys.
import { addApiKeyBody, rotateApiKeyBody } from './api-keys.ts'
import { createTenantBody } from './tenants.ts'
import { noFields } from '../requests/body-fields.ts'
import { listOf } from '../contracts/fields.ts'
import {
  apiKeySchema,
  newApiKeySchema,
  newTenantSchema,
  rotatedApiKeySchema,
  tenantSchema,
} from './schema.ts'
import type { Contracts } from '../contracts/contract.ts'
import { idInPath } from '../contracts/parameters.ts'

const tenantInPath = idInPath('tnt', 'The tenant.')
const keyInPath = idInPath('key', 'The API key.')

export const tenantContracts: Contracts = {
  'POST /admin/tenants': {
    operationId: 'createTenant',
    tag: 'Operators',
    summary: 'Make a tenant with an API key',
    body: {
      schema: createTenantBody.meta({ id: 'CreateTenant' }),
      example: { name: 'Merchant', scopes: ['*'] },
    },
    answers: {
      201: { description: 'The tenant, with the secret of its key.', schema: newTenantSchema },
    },
  },
  'GET /admin/tenants': {
    operationId: 'listTenants',
    tag: 'Operators',
    summary: 'List tenants, newest first',
    isList: true,
    answers: {
      200: { description: 'A page of tenants.', schema: listOf('TenantList', tenantSchema) },
    },
  },
  'POST /admin/tenants/:id/keys': {
    operationId: 'addApiKey',
    tag: 'Operators',
    summary: 'Make another API key for a tenant',
    path: tenantInPath,
    body: {
      schema: addApiKeyBody.meta({ id: 'AddApiKey' }),
      mayOmit: true,
      example: { scopes: ['payments:read'] },
    },
    answers: { 201: { description: 'The key, with its secret.', schema: newApiKeySchema } },
  },
  'GET /admin/tenants/:id/keys': {
    operationId: 'listApiKeys',
    tag: 'Operators',
    summary: 'List the API keys of a tenant, newest first',
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
    operationId: 'rotateApiKey',
    tag: 'Operators',
    summary: 'Replace an API key by a new one',
    path: keyInPath,
    body: {
      schema: rotateApiKeyBody.meta({ id: 'RotateApiKey' }),
      mayOmit: true,
      example: { grace_seconds: 3600 },
    },
    answers: { 201: { description: 'The new key, with its secret.', schema: rotatedApiKeySchema } },
    problems: ['api-key-ended'],
  },
  'DELETE /admin/keys/:id': {
    operationId: 'revokeApiKey',
    tag: 'Operators',
    summary: 'Revoke an API key',
    path: keyInPath,
    body: { schema: noFields, mayOmit: true },
    answers: { 204: { description: 'It is revoked, or was before.' } },
  },
}
