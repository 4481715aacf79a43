// The commands of `npm run tenants` about customers: which tenant may charge which customer of the provider.
import { assignCustomers, listCustomers } from '../../db/tenants/provider-customers.ts'
import { readConfig } from '../../config.ts'
import { findTenant } from '../../db/tenants/tenants.ts'
import { showTenantId, describeOwners } from '../../domain/tenants/tenant.ts'
import { readCustomers, readTenantId, type Given } from './arguments.ts'
import { change, readAll, refuse, type Command } from './commands.ts'
import { showCustomers } from './show.ts'

export function addCustomers({ subject, rest, values }: Given): Command {
  const tenantId = readTenantId(subject)
  const customers = readCustomers(rest)
  const from = values.from === undefined ? undefined : readTenantId(values.from)
  const previousTenant = from === undefined ? {} : { from: showTenantId(from) }
  return (store) =>
    change(store, 'customers.assign', async (tx) => {
      if ((await findTenant(tx, tenantId)) === undefined) refuse(`there is no tenant ${subject}`)
      const assignment = { tenantId, provider: readConfig().PROVIDER, customers, from }
      const owned = await assignCustomers(tx, assignment)
      if (owned.length > 0) {
        refuse(`${describeOwners(owned)} Name that tenant in --from to move them`)
      }
      const details = { result: 'assigned', customers, ...previousTenant }
      const printed = `${subject} may charge ${customers.join(', ')}.\n`
      return { subject: showTenantId(tenantId), details, printed }
    })
}

export function listOwned({ subject }: Given): Command {
  const tenantId = readTenantId(subject)
  return async ({ sql }) => {
    if ((await findTenant(sql, tenantId)) === undefined) refuse(`there is no tenant ${subject}`)
    const owned = { tenantId, provider: readConfig().PROVIDER }
    return showCustomers(await readAll((page) => listCustomers(sql, owned, page)))
  }
}
