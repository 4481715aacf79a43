// GET /admin/tenants/:id/keys
import { listApiKeys } from '../../db/tenants/api-keys.ts'
import { parseKeyId, presentApiKey } from '../../domain/tenants/api-key.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { parseListQuery } from '../list-query.ts'
import { showPage } from '../show-page.ts'
import { findRequestedTenant } from './requested-tenant.ts'

export const listApiKeysEndpoint: AdminEndpoint = async (parts, request) => {
  const query = parseListQuery(request.query, parseKeyId)
  const { sql } = parts.store
  const { id } = await withinStoreTimeout(parts, findRequestedTenant(sql, request))
  return showPage(await withinStoreTimeout(parts, listApiKeys(sql, id, query)), presentApiKey)
}
