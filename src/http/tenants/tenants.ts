// POST /admin/tenants, GET /admin/tenants and GET /admin/tenants/:id: create, list and show tenants.
import { z } from 'zod'
import { insertApiKey, makeApiKey } from '../../db/tenants/api-keys.ts'
import { insertTenant, listTenants } from '../../db/tenants/tenants.ts'
import { presentNewApiKey, showKeyId } from '../../domain/tenants/api-key.ts'
import {
  presentTenant,
  showTenantId,
  TENANT_NAME,
  parseTenantId,
} from '../../domain/tenants/tenant.ts'
import { jsonType, showJson } from '../responses/answer.ts'
import { textField } from '../requests/body-fields.ts'
import { adminCommand } from '../admin/admin-commands.ts'
import { findRequestedTenant, scopesField } from './tenants-find.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { parseListQuery } from '../requests/list-query.ts'
import { showPage } from '../responses/page-answer.ts'

export const createTenantBody = z.strictObject({
  name: textField({ min: 1, max: 200 }, z.string().trim())
    .refine((name) => TENANT_NAME.test(name), { error: 'must have no control characters' })
    .describe('A name for people. It does not have to be unique.'),
  scopes: scopesField,
})

export const createTenantEndpoint = adminCommand({
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

export const listTenantsEndpoint: AdminEndpoint = async (parts, request) => {
  const query = parseListQuery(request.query, parseTenantId)
  const lookup = listTenants(parts.store.sql, query)
  return showPage(await withinStoreTimeout(parts, lookup), presentTenant)
}

export const getTenant: AdminEndpoint = async (parts, request) => {
  const finding = findRequestedTenant(parts.store.sql, request)
  return showJson(presentTenant(await withinStoreTimeout(parts, finding)))
}
