// POST and GET /admin/tenants/:id/customers: which customers of the provider belong to a tenant.
import { z } from 'zod'
import { assignCustomers, listCustomers } from '../../db/tenants/provider-customers.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import {
  describeOwners,
  isProviderId,
  parseTenantId,
  showTenantId,
} from '../../domain/tenants/tenant.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { idField, shownText, timeField } from '../contracts/fields.ts'
import { providerIdField } from '../requests/validate-body.ts'
import { readList } from '../contracts/reads.ts'
import { adminCommand } from './commands.ts'
import { tenant } from './tenants.ts'

const customerId = shownText("The provider's id of the customer.")

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

export const customerEndpoints: Endpoints = {
  'POST /admin/tenants/:id/customers': adminCommand({
    operationId: 'assignCustomers',
    summary: 'Assign customers to a tenant',
    description:
      'Lets a tenant charge customers of the provider. Send it after you have created a customer at the provider. Repeating it changes nothing. A customer of another tenant moves only if `from` names that tenant; payments that were accepted before go on.',
    action: 'customers.assign',
    on: tenant,
    body: {
      schema: assignCustomersBody.meta({ id: 'AssignCustomers' }),
      example: { customers: ['cus_NffrFeUfNV2Hib'] },
    },
    async work({ parts, tx, body: { customers, from }, found }) {
      const previous = from === undefined ? undefined : parseTenantId(from)
      const { defaultName: provider } = parts.providers
      const assignment = { tenantId: found.id, provider, customers, from: previous }
      const owned = await assignCustomers(tx, assignment)
      if (owned.length > 0) {
        throw new ProblemError('customer-of-another-tenant', { detail: describeOwners(owned) })
      }
      return {
        answer: { object: 'assignment', tenant: showTenantId(found.id), customers },
        details: { result: 'assigned', customers, ...(from === undefined ? {} : { from }) },
      }
    },
    answers: { 200: { description: 'The customers of this request.', schema: assignmentSchema } },
    problems: ['customer-of-another-tenant'],
  }),
  'GET /admin/tenants/:id/customers': readList({
    operationId: 'listCustomers',
    summary: 'List the customers of a tenant',
    description:
      'Returns the customers of the provider that a tenant may charge, in reverse order of their ids.',
    of: { schema: customerSchema, parse: (text) => (isProviderId(text) ? text : undefined) },
    below: tenant,
    read: ({ store, providers }, page, _filters, { owner: { id: tenantId } }) =>
      listCustomers(store.sql, { tenantId, provider: providers.defaultName }, page),
    answer: 'A page of customers.',
  }),
}
