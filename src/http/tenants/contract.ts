// Contracts of the endpoints by which operators manage tenants and API keys.
import { addApiKeyBody, rotateApiKeyBody } from './api-keys.ts'
import { assignCustomersBody } from './customers.ts'
import { changeLimitsBody } from './tenant-limits-change.ts'
import { createTenantBody } from './tenants.ts'
import { noBody } from '../requests/body-fields.ts'
import { listOf } from '../contracts/fields.ts'
import {
  apiKeySchema,
  assignmentSchema,
  customerSchema,
  newApiKeySchema,
  newTenantSchema,
  rotatedApiKeySchema,
  tenantLimitsSchema,
  tenantSchema,
} from './schema.ts'
import type { Contracts } from '../contracts/contract.ts'
import { idInPath } from '../contracts/parameters.ts'

const tenantInPath = idInPath('tnt', 'The id of the tenant.')
const keyInPath = idInPath('key', 'The id of the API key, not the key itself.')

export const tenantContracts: Contracts = {
  'POST /admin/tenants': {
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
    operationId: 'getTenant',
    tag: 'Operators',
    summary: 'Retrieve a tenant',
    description: 'Returns a tenant. `npm run tenants` changes its fees and its rules.',
    path: tenantInPath,
    answers: { 200: { description: 'The tenant.', schema: tenantSchema } },
  },
  'GET /admin/tenants/:id/limits': {
    operationId: 'getTenantLimits',
    tag: 'Operators',
    summary: 'Read the limits of a tenant',
    description: 'Returns the limits that apply to a tenant, and how much of them it uses.',
    path: tenantInPath,
    answers: { 200: { description: 'The limits.', schema: tenantLimitsSchema } },
  },
  'POST /admin/tenants/:id/limits': {
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
  'POST /admin/tenants/:id/keys': {
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
  'POST /admin/tenants/:id/customers': {
    operationId: 'assignCustomers',
    tag: 'Operators',
    summary: 'Assign customers to a tenant',
    description:
      'Lets a tenant charge customers of the provider. Send it after you have created a customer at the provider. Repeating it changes nothing. A customer of another tenant moves only if `from` names that tenant; payments that were accepted before go on.',
    path: tenantInPath,
    body: {
      schema: assignCustomersBody.meta({ id: 'AssignCustomers' }),
      example: { customers: ['cus_NffrFeUfNV2Hib'] },
    },
    answers: { 200: { description: 'The customers of this request.', schema: assignmentSchema } },
    problems: ['customer-of-another-tenant'],
  },
  'GET /admin/tenants/:id/customers': {
    operationId: 'listCustomers',
    tag: 'Operators',
    summary: 'List the customers of a tenant',
    description:
      'Returns the customers of the provider that a tenant may charge, in reverse order of their ids.',
    path: tenantInPath,
    isList: true,
    answers: {
      200: { description: 'A page of customers.', schema: listOf('CustomerList', customerSchema) },
    },
  },
  'POST /admin/keys/:id/rotate': {
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
    operationId: 'revokeApiKey',
    tag: 'Operators',
    summary: 'Revoke an API key',
    path: keyInPath,
    body: noBody,
    description: 'Revokes an API key. A revoked key cannot be activated again.',
    answers: { 204: { description: 'The API key is revoked, or was revoked before.' } },
  },
}
