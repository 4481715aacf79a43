// The command `npm run tenants -- erase`: removes the personal data of a customer.
import { readConfig } from '../../config.ts'
import {
  countOpenPayments,
  eraseCustomer,
  releaseCustomer,
} from '../../db/retention/erased-customers.ts'
import { findTenant } from '../../db/tenants/tenants.ts'
import { showTenantId } from '../../domain/tenants/tenant.ts'
import { readCustomers, readTenantId, UsageError, type Given } from './arguments.ts'
import { change, refuse, type Command } from './commands.ts'

/** Erases one customer in one transaction. The audit record has only the counts. */
export function erase({ subject, rest }: Given): Command {
  const tenantId = readTenantId(subject)
  const [customer, ...others] = readCustomers(rest)
  if (customer === undefined || others.length > 0) {
    throw new UsageError('erase takes the id of one tenant and the id of one customer')
  }
  return (store) =>
    change(store, 'customer.erase', async (tx) => {
      if ((await findTenant(tx, tenantId)) === undefined) refuse(`there is no tenant ${subject}`)
      const named = { tenantId, provider: readConfig().PROVIDER, customer }
      await releaseCustomer(tx, named)
      const open = await countOpenPayments(tx, named)
      if (open > 0) {
        refuse(`${open} payments of ${customer} have not ended. Nothing was erased; erase it later`)
      }
      const counts = await eraseCustomer(tx, named, readConfig().IDEMPOTENCY_FLAVOR)
      const { payments, refunds, events, timelineEntries, responses } = counts
      const printed =
        `Erased ${customer} from ${payments} payments, ${refunds} refunds, ${events} events and ` +
        `${timelineEntries} timeline entries, and dropped ${responses} stored responses.\n` +
        'The ledger is unchanged. The provider has records of its own: erase the customer there too.\n'
      return { subject: showTenantId(tenantId), details: { result: 'erased', ...counts }, printed }
    })
}
