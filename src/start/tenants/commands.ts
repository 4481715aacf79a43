// The commands of `npm run tenants`. Each one reads its arguments and returns a function that does
// the work and returns the output. A change is written to the operators' audit trail in the same
// transaction.
import { appendAdminAction } from '../../db/operators/admin-actions.ts'
import {
  findApiKey,
  insertApiKey,
  listApiKeys,
  makeApiKey,
  revokeKeyIfNotRevoked,
  rotateKeyIfActive,
} from '../../db/tenants/api-keys.ts'
import type { Store, Transaction } from '../../db/connection/client.ts'
import type { Page, PageRequest } from '../../db/connection/pages.ts'
import {
  changeTenant,
  findTenant,
  insertTenant,
  listTenants,
  setTenantDisabled,
  setTenantFees,
  changeTenantLimits,
  findTenantLimits,
  setProviders,
} from '../../db/tenants/tenants.ts'
import { inService } from '../../db/connection/transaction.ts'
import {
  ROTATION_GRACE_SECONDS,
  ROTATION_GRACE_SECONDS_MAX,
  showKeyId,
} from '../../domain/tenants/api-key.ts'
import {
  showTenantId,
  describeOwners,
  KEY_LENGTH_MIN_MAX,
  LIMIT_MAX,
  STORED_KEYS_MAX,
  type LimitName,
} from '../../domain/tenants/tenant.ts'
import {
  readCount,
  readKeyId,
  UsageError,
  readScopes,
  readTenantId,
  readTenantName,
  type Given,
  readCustomers,
  readLimit,
  type OptionName,
} from './arguments.ts'
import { showKeys, showNewKey, showTenants, showCustomers, showLimits } from './show.ts'
import { assignCustomers, listCustomers } from '../../db/tenants/provider-customers.ts'
import { readConfig } from '../../config.ts'
import { takesCurrency, isCurrency } from '../../domain/payments/currency.ts'
import type { Route } from '../../domain/payments/routing.ts'
import { capabilitiesOf, providerNames } from '../../provider/adapters.ts'

/** In the audit trail. */
const ACTOR = 'command line'

const SECONDS_PER_HOUR = 3600
export const GRACE_HOURS = ROTATION_GRACE_SECONDS / SECONDS_PER_HOUR
export const GRACE_HOURS_MAX = ROTATION_GRACE_SECONDS_MAX / SECONDS_PER_HOUR

/** Runs the command, and returns its output. */
export type Command = (store: Store) => Promise<string>

/** The command is valid, but the tenant or key does not exist or does not allow it. */
export class RefusedError extends Error {
  override name = 'RefusedError'
}

export function refuse(reason: string): never {
  throw new RefusedError(reason)
}

/** Makes a change and writes it to the audit trail, in one transaction. */
export async function change(
  { sql }: Store,
  action: string,
  work: (tx: Transaction) => Promise<{ subject: string; details: object; printed: string }>,
): Promise<string> {
  return await inService(sql, async (tx) => {
    const { subject, details, printed } = await work(tx)
    await appendAdminAction(tx, { actor: ACTOR, action, subject, details: { ...details } })
    return printed
  })
}

export function create({ subject, values }: Given): Command {
  const name = readTenantName(subject)
  const granted = readScopes(values.scopes)
  return (store) =>
    change(store, 'tenant.create', async (tx) => {
      const tenant = await insertTenant(tx, name)
      const secret = makeApiKey()
      const key = await insertApiKey(tx, { tenantId: tenant.id, secret, scopes: granted })
      const id = showTenantId(tenant.id)
      const details = { result: 'made', name, key: showKeyId(key.id), scopes: granted }
      return { subject: id, details, printed: `tenant  ${id}\n${showNewKey(key, secret)}` }
    })
}

export function addKey({ subject, values }: Given): Command {
  const id = readTenantId(subject)
  const granted = readScopes(values.scopes)
  return (store) =>
    change(store, 'api_key.add', async (tx) => {
      const tenant = (await findTenant(tx, id)) ?? refuse(`there is no tenant ${subject}`)
      const secret = makeApiKey()
      const key = await insertApiKey(tx, { tenantId: tenant.id, secret, scopes: granted })
      const details = { result: 'made', key: showKeyId(key.id), scopes: granted }
      return { subject: showTenantId(id), details, printed: showNewKey(key, secret) }
    })
}

export function rotateKey({ subject, values }: Given): Command {
  const id = readKeyId(subject)
  const hours = readCount(
    'grace-hours',
    values['grace-hours'] ?? String(GRACE_HOURS),
    GRACE_HOURS_MAX,
  )
  const graceSeconds = hours * SECONDS_PER_HOUR
  return (store) =>
    change(store, 'api_key.rotate', async (tx) => {
      const old = (await findApiKey(tx, id)) ?? refuse(`there is no key ${subject}`)
      const rotated = await rotateKeyIfActive(tx, old, graceSeconds)
      if (rotated === undefined) refuse(`${subject} has ended, or was already rotated`)
      const key = showKeyId(rotated.key.id)
      const details = { result: 'rotated', key, grace_seconds: graceSeconds }
      const until = hours === 0 ? 'no longer works' : `works for ${hours} more hours`
      const printed = `${showNewKey(rotated.key, rotated.secret)}${subject} ${until}.\n`
      return { subject: showKeyId(id), details, printed }
    })
}

export function revokeKey({ subject }: Given): Command {
  const id = readKeyId(subject)
  return (store) =>
    change(store, 'api_key.revoke', async (tx) => {
      if ((await findApiKey(tx, id)) === undefined) refuse(`there is no key ${subject}`)
      const revoked = await revokeKeyIfNotRevoked(tx, id)
      const result = revoked ? 'revoked' : 'revoked before'
      return { subject: showKeyId(id), details: { result }, printed: `${subject} is revoked.\n` }
    })
}

export function switchTenant({ subject }: Given, disabled: boolean): Command {
  const id = readTenantId(subject)
  const done = disabled ? 'disabled' : 'enabled'
  return (store) =>
    change(store, disabled ? 'tenant.disable' : 'tenant.enable', async (tx) => {
      if (!(await setTenantDisabled(tx, id, disabled))) refuse(`there is no tenant ${subject}`)
      const details = { result: done }
      return { subject: showTenantId(id), details, printed: `${subject} is ${done}.\n` }
    })
}

export function setFees({ subject, values }: Given): Command {
  const id = readTenantId(subject)
  const basisPoints = readCount('basis-points', values['basis-points'], 10_000)
  const fixedMinor = readCount('fixed', values.fixed, 99_999_999)
  return (store) =>
    change(store, 'tenant.fees', async (tx) => {
      const fees = { basisPoints, fixedMinor }
      if (!(await setTenantFees(tx, id, fees))) refuse(`there is no tenant ${subject}`)
      const printed = `tenant  ${subject}\nfees    ${basisPoints} basis points and ${fixedMinor} for each capture\n`
      return { subject: showTenantId(id), details: { result: 'set', ...fees }, printed }
    })
}

export function setReferences({ subject, values: { references } }: Given): Command {
  const id = readTenantId(subject)
  if (references !== 'required' && references !== 'optional') {
    throw new UsageError('--references must be required or optional')
  }
  const required = references === 'required'
  return (store) =>
    change(store, 'tenant.references', async (tx) => {
      const columns = { requires_reference: required }
      if (!(await changeTenant(tx, id, columns))) refuse(`there is no tenant ${subject}`)
      const printed = `tenant      ${subject}\nreferences  ${references}\n`
      return { subject: showTenantId(id), details: { result: 'set', references }, printed }
    })
}

export async function list({ sql }: Store): Promise<string> {
  return showTenants(await readAll((page) => listTenants(sql, page)))
}

export function listKeys({ subject }: Given): Command {
  const id = readTenantId(subject)
  return async ({ sql }) => {
    if ((await findTenant(sql, id)) === undefined) refuse(`there is no tenant ${subject}`)
    return showKeys(await readAll((page) => listApiKeys(sql, id, page)))
  }
}

/** Reads a whole list, page by page. */
async function readAll<Item extends { readonly id: string }>(
  read: (page: PageRequest) => Promise<Page<Item> | undefined>,
): Promise<Item[]> {
  const items: Item[] = []
  for (;;) {
    const last = items.at(-1)
    const startingAfter = last === undefined ? {} : { startingAfter: last.id }
    const page = await read({ limit: 100, ...startingAfter })
    items.push(...(page?.items ?? []))
    if (page?.hasMore !== true) return items
  }
}

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

const limitOptions = [
  { option: 'writes', setting: 'RATE_LIMIT_WRITES', max: LIMIT_MAX },
  { option: 'reads', setting: 'RATE_LIMIT_READS', max: LIMIT_MAX },
  { option: 'active-keys', setting: 'MAX_ACTIVE_KEYS', max: LIMIT_MAX },
  { option: 'stored-keys', setting: 'MAX_STORED_KEYS', max: STORED_KEYS_MAX },
  { option: 'key-length', setting: 'KEY_LENGTH_MIN', max: KEY_LENGTH_MIN_MAX },
] as const satisfies readonly { option: OptionName; setting: LimitName; max: number }[]

export const limitOptionNames: readonly OptionName[] = limitOptions.map(({ option }) => option)

/** Without an option it only shows the limits. */
export function limits({ subject, values }: Given): Command {
  const tenantId = readTenantId(subject)
  const changes = limitOptions.flatMap(({ option, setting, max }) => {
    const text = values[option]
    return text === undefined ? [] : [[setting, readLimit(option, text, max)] as const]
  })
  if (changes.length === 0) {
    return async ({ sql }) => {
      const own = await findTenantLimits(sql, tenantId)
      return showLimits(limitOptions, own ?? refuse(`there is no tenant ${subject}`))
    }
  }
  const changed = Object.fromEntries(changes)
  return (store) =>
    change(store, 'tenant.limits', async (tx) => {
      const own = await changeTenantLimits(tx, tenantId, changed)
      if (own === undefined) refuse(`there is no tenant ${subject}`)
      const details = { result: 'set', ...changed }
      return { subject: showTenantId(tenantId), details, printed: showLimits(limitOptions, own) }
    })
}

/** Without a provider it only shows the providers of the tenant's new payments. */
export function providers({ subject, rest }: Given): Command {
  const tenantId = readTenantId(subject)
  if (rest.length === 0) {
    return async ({ sql }) => {
      const tenant = (await findTenant(sql, tenantId)) ?? refuse(`there is no tenant ${subject}`)
      return showRoutes(tenant.providers)
    }
  }
  const routes = rest.length === 1 && rest[0] === 'default' ? null : readRoutes(rest)
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
  const [provider = '', listed, ...more] = text.split(':')
  if (!providerNames.includes(provider) || more.length > 0) {
    throw new UsageError(
      `${JSON.stringify(text)} names no provider; there are ${providerNames.join(', ')}`,
    )
  }
  if (listed === undefined) {
    if (capabilitiesOf(provider).everyCurrency) return { provider }
    throw new UsageError(`${provider} needs its currencies: ${provider}:eur,usd`)
  }
  const currencies = listed.split(',')
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
