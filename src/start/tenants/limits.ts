// The command of `npm run tenants` that shows and changes the limits of one tenant.
import { changeTenantLimits, findTenantLimits } from '../../db/tenants/tenants.ts'
import {
  KEY_LENGTH_MIN_MAX,
  LIMIT_MAX,
  STORED_KEYS_MAX,
  type LimitName,
} from '../../domain/tenants/tenant-limits.ts'
import { showTenantId } from '../../domain/tenants/tenant.ts'
import { readLimit, readTenantId, type Given, type OptionName } from './arguments.ts'
import { change, refuse, type Command } from './commands.ts'
import { showLimits } from './show.ts'

interface LimitOption {
  readonly option: OptionName
  readonly setting: LimitName
  readonly max: number
}

const limitOptions = [
  { option: 'writes', setting: 'RATE_LIMIT_WRITES', max: LIMIT_MAX },
  { option: 'reads', setting: 'RATE_LIMIT_READS', max: LIMIT_MAX },
  { option: 'active-keys', setting: 'MAX_ACTIVE_KEYS', max: LIMIT_MAX },
  { option: 'stored-keys', setting: 'MAX_STORED_KEYS', max: STORED_KEYS_MAX },
  { option: 'key-length', setting: 'KEY_LENGTH_MIN', max: KEY_LENGTH_MIN_MAX },
] as const satisfies readonly LimitOption[]

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
