// The command of `npm run tenants` that shows and sets the providers of a tenant's new payments.
import { findTenant, setProviders } from '../../db/tenants/tenants.ts'
import { takesCurrency } from '../../domain/payments/amount-rules.ts'
import { isCurrency } from '../../domain/payments/currency.ts'
import type { Route } from '../../domain/payments/routing.ts'
import { showTenantId } from '../../domain/tenants/tenant.ts'
import { capabilitiesOf, providerNames } from '../../provider/adapters.ts'
import { readTenantId, UsageError, type Given } from './arguments.ts'
import { change, refuse, type Command } from './commands.ts'

const DEFAULT = 'default'

/** Without a provider it only shows them. */
export function providers({ subject, rest }: Given): Command {
  const tenantId = readTenantId(subject)
  if (rest.length === 0) {
    return async ({ sql }) => {
      const tenant = (await findTenant(sql, tenantId)) ?? refuse(`there is no tenant ${subject}`)
      return showRoutes(tenant.providers)
    }
  }
  const routes = rest.length === 1 && rest[0] === DEFAULT ? null : readRoutes(rest)
  return (store) =>
    change(store, 'tenant.providers', async (tx) => {
      if (!(await setProviders(tx, tenantId, routes))) refuse(`there is no tenant ${subject}`)
      const details = { result: 'set', providers: routes }
      return { subject: showTenantId(tenantId), details, printed: showRoutes(routes) }
    })
}

/** Reads `<provider>` or `<provider>:<currency>,...`, each provider once. */
function readRoutes(texts: readonly string[]): Route[] {
  const routes = texts.map(readRoute)
  const repeated = routes.find(
    ({ provider }, index) => routes.findIndex((route) => route.provider === provider) < index,
  )
  if (repeated !== undefined) throw new UsageError(`${repeated.provider} is named twice`)
  return routes
}

function readRoute(text: string): Route {
  const [provider = '', list, ...more] = text.split(':')
  if (!providerNames.includes(provider) || more.length > 0) {
    throw new UsageError(
      `${JSON.stringify(text)} names no provider; there are ${providerNames.join(', ')}`,
    )
  }
  if (list === undefined) {
    if (capabilitiesOf(provider).everyCurrency) return { provider }
    throw new UsageError(`${provider} needs its currencies: ${provider}:eur,usd`)
  }
  const currencies = list.split(',')
  const wrong = currencies.find((currency) => !isCurrency(currency))
  if (wrong !== undefined) {
    throw new UsageError(`${JSON.stringify(wrong)} is not an ISO 4217 code in lower case`)
  }
  const { amounts } = capabilitiesOf(provider)
  const foreign = currencies.find((currency) => !takesCurrency(amounts, currency))
  if (foreign !== undefined) throw new UsageError(`${provider} does not take ${foreign}`)
  return { provider, currencies: [...new Set(currencies)] }
}

function showRoutes(routes: readonly Route[] | null): string {
  if (routes === null) return 'default  every currency (PROVIDER of the service)\n'
  const width = Math.max(...routes.map(({ provider }) => provider.length))
  return routes
    .map(({ provider, currencies = ['every currency'] }) => {
      return `${provider.padEnd(width)}  ${currencies.join(', ')}\n`
    })
    .join('')
}
