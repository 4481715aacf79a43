// GET /admin/tenants
import { listTenants } from '../../db/tenants/tenants.ts'
import { parseTenantId, presentTenant } from '../../domain/tenants/tenant.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { parseListQuery } from '../list-query.ts'
import { showPage } from '../show-page.ts'

export const listTenantsEndpoint: AdminEndpoint = async (parts, request) => {
  const query = parseListQuery(request.query, parseTenantId)
  const found = listTenants(parts.store.sql, query)
  return showPage(await withinStoreTimeout(parts, found), presentTenant)
}
