// The endpoints of the customers that a tenant may charge: assign and list them. The provider's
// account holds the customers of all tenants, so that only an operator knows whose they are.
import { z } from 'zod'
import {
  assignCustomers,
  listCustomers,
  OwnedElsewhereError,
  type Assignment,
} from '../../db/tenants/provider-customers.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { describeOwners, isProviderId, presentCustomer } from '../../domain/tenants/customer.ts'
import { parseTenantId, showTenantId } from '../../domain/tenants/tenant.ts'
import { adminCommand } from '../admin/admin-commands.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { providerIdField } from '../requests/body-fields.ts'
import { parseListQuery } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'
import { showPage } from '../responses/page-answer.ts'
import { findRequestedTenant, namedTenant } from './tenants-find.ts'

const CUSTOMERS_MAX = 1_000

export const assignCustomersBody = z.strictObject({
  customers: z
    .array(providerIdField)
    .min(1)
    .max(CUSTOMERS_MAX)
    .describe(
      "The provider's ids of the customers. One that the tenant already has stays as it is.",
    ),
  from: z
    .string()
    .refine((text) => parseTenantId(text) !== undefined, { error: 'must be the id of a tenant' })
    .optional()
    .meta({
      description:
        'The tenant from which customers may be taken. Without it, a customer of another tenant is refused.',
    }),
})

export const assignCustomersEndpoint = adminCommand({
  action: 'customers.assign',
  subject: namedTenant,
  body: assignCustomersBody,
  async work({ providerName: provider }, tx, { request, body: { customers, from } }) {
    const { id: tenantId } = await findRequestedTenant(tx, request)
    const previousTenant = from === undefined ? undefined : parseTenantId(from)
    await assign(tx, { tenantId, provider, customers, from: previousTenant })
    return {
      answer: showJson({ object: 'assignment', tenant: showTenantId(tenantId), customers }),
      details: { result: 'assigned', customers, ...(from === undefined ? {} : { from }) },
    }
  },
})

/** @throws ProblemError customer-of-another-tenant. */
async function assign(tx: Transaction, assignment: Assignment): Promise<void> {
  try {
    await assignCustomers(tx, assignment)
  } catch (error) {
    if (!(error instanceof OwnedElsewhereError)) throw error
    throw new ProblemError('customer-of-another-tenant', { detail: describeOwners(error.owned) })
  }
}

export const listCustomersEndpoint: AdminEndpoint = async (parts, request) => {
  const query = parseListQuery(request.query, (text) => (isProviderId(text) ? text : undefined))
  const { sql } = parts.store
  const { id: tenantId } = await withinStoreTimeout(parts, findRequestedTenant(sql, request))
  const lookup = listCustomers(sql, { tenantId, provider: parts.providerName }, query)
  return showPage(await withinStoreTimeout(parts, lookup), presentCustomer)
}
