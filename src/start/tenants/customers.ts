// The commands of `npm run tenants` about customers: which tenant may charge which customer of the provider,
// and `erase`, which removes the personal data of one.
import {
  assignCustomers,
  listCustomers,
  OwnedElsewhereError,
  type Assignment,
} from '../../db/tenants/provider-customers.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { readConfig } from '../../config.ts'
import { findTenant } from '../../db/tenants/tenants.ts'
import { showTenantId, describeOwners } from '../../domain/tenants/tenant.ts'
import { readCustomers, readTenantId, type Given, UsageError } from './arguments.ts'
import { change, readAll, refuse, type Command } from './commands.ts'
import { showCustomers } from './show.ts'
import {
  countOpenPayments,
  eraseCustomer,
  releaseCustomer,
} from '../../db/retention/erased-customers.ts'

export function addCustomers({ subject, rest, values }: Given): Command {
  const tenantId = readTenantId(subject)
  const customers = readCustomers(rest)
  const from = values.from === undefined ? undefined : readTenantId(values.from)
  const previousTenant = from === undefined ? {} : { from: showTenantId(from) }
  return (store) =>
    change(store, 'customers.assign', async (tx) => {
      if ((await findTenant(tx, tenantId)) === undefined) refuse(`there is no tenant ${subject}`)
      await assign(tx, { tenantId, provider: readConfig().PROVIDER, customers, from })
      const details = { result: 'assigned', customers, ...previousTenant }
      const printed = `${subject} may charge ${customers.join(', ')}.\n`
      return { subject: showTenantId(tenantId), details, printed }
    })
}

async function assign(tx: Transaction, assignment: Assignment): Promise<void> {
  try {
    await assignCustomers(tx, assignment)
  } catch (error) {
    if (!(error instanceof OwnedElsewhereError)) throw error
    refuse(`${describeOwners(error.owned)} Name that tenant in --from to move them`)
  }
}

export function listOwned({ subject }: Given): Command {
  const tenantId = readTenantId(subject)
  return async ({ sql }) => {
    if ((await findTenant(sql, tenantId)) === undefined) refuse(`there is no tenant ${subject}`)
    const owned = { tenantId, provider: readConfig().PROVIDER }
    return showCustomers(await readAll((page) => listCustomers(sql, owned, page)))
  }
}

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
