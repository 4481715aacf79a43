// POST and GET /admin/tenants/:id/customers: which customers of the provider belong to a tenant.
import { z } from 'zod'
import { idField, timeField, listOf } from '../contracts/fields.ts'
import { showJson, showPage } from '../responses/answer.ts'
import { adminCommand } from './admin-commands.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { parseListQuery } from '../requests/list-query.ts'
import { admin } from '../server/route.ts'
import type { Endpoints } from '../contracts/contract.ts'
import {
  parseTenantId,
  showTenantId,
  isProviderId,
  presentCustomer,
} from '../../domain/tenants/tenant.ts'
import { providerIdField } from '../requests/body-fields.ts'
import { listCustomers } from '../../db/tenants/provider-customers.ts'
import { namedTenant, findRequestedTenant, assign, tenantInPath } from './tenants.ts'

const customerId = z.string().meta({ description: "The provider's id of the customer." })

const customerSchema = z
  .object({
    id: customerId,
    object: z.literal('customer'),
    tenant: idField('tnt', 'The tenant that may charge the customer.'),
    assigned_at: timeField('When the customer was assigned to the tenant.'),
  })
  .meta({ id: 'Customer' })

const assignmentSchema = z
  .object({
    object: z.literal('assignment'),
    tenant: idField('tnt', 'The tenant that may charge the customers.'),
    customers: z.array(customerId).meta({ description: 'The customers of this request.' }),
  })
  .meta({ id: 'CustomerAssignment' })

const CUSTOMERS_MAX = 1_000

const assignCustomersBody = z.strictObject({
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

const assignCustomersEndpoint = adminCommand({
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

const listCustomersEndpoint: AdminEndpoint = async (parts, request) => {
  const query = parseListQuery(request.query, (text) => (isProviderId(text) ? text : undefined))
  const { sql } = parts.store
  const { id: tenantId } = await withinStoreTimeout(parts, findRequestedTenant(sql, request))
  const lookup = listCustomers(sql, { tenantId, provider: parts.providerName }, query)
  return showPage(await withinStoreTimeout(parts, lookup), presentCustomer)
}

export const customerEndpoints: Endpoints = {
  'POST /admin/tenants/:id/customers': {
    serve: admin(assignCustomersEndpoint),
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
    serve: admin(listCustomersEndpoint),
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
}
