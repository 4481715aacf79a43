// Describes the JSON of payments for operators: as their tenants see them, but with the tenant and
// without the client secret.
import { z } from 'zod'
import { operationStatuses } from '../../../domain/operations/operation.ts'
import { idField } from '../../contracts/fields.ts'
import { paymentSchema } from '../schema.ts'

const paymentOfTenant = paymentSchema
  .omit({ next_action: true })
  .extend({ tenant: idField('tnt', 'The tenant.') })

const openOperation = z.object({
  id: idField('op', 'The id of the operation.'),
  operation: z
    .string()
    .meta({ description: 'The kind of operation.', examples: ['payment.create'] }),
  status: z.enum(operationStatuses).meta({ description: 'The status of the operation.' }),
  recovery_point: z
    .string()
    .meta({ description: 'The last step that was recorded; work resumes after it.' }),
})

export const paymentOverviewSchema = paymentOfTenant
  .extend({
    operation: openOperation
      .nullable()
      .meta({ description: 'The newest operation on the payment that is not completed.' }),
  })
  .meta({ id: 'PaymentOverview' })
