// What `npm run tenants` is given, read strictly and before anything is connected to.
import { parseArgs } from 'node:util'
import { EVERY_SCOPE, grantableScopes, parseKeyId } from '../../domain/tenants/api-key.ts'
import { parseTenantId, TENANT_NAME } from '../../domain/tenants/tenant.ts'

/** What was typed is not understood. */
export class UsageError extends Error {
  override name = 'UsageError'
}

const options = {
  scopes: { type: 'string' },
  'basis-points': { type: 'string' },
  fixed: { type: 'string' },
  'grace-hours': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

export type OptionName = keyof typeof options

export interface Given {
  /** The name, or the id, that the command is about; empty when nothing was named. */
  readonly subject: string
  readonly values: ReturnType<typeof parse>['values']
}

/** @throws UsageError for an option that there is not, or one without its value. */
export function readArguments(
  args: readonly string[],
): Given & { readonly command: string; readonly rest: readonly string[] } {
  const { positionals, values } = parse(args)
  const [command = '', subject = '', ...rest] = positionals
  return { command, subject: subject.trim(), rest, values }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

export function readTenantName(text: string): string {
  if (TENANT_NAME.test(text)) return text
  throw new UsageError('a name has 1 to 200 characters, none of them a control character')
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/** The log and the metrics name a tenant by its UUID, so that this will do as well. */
export function readTenantId(text: string): string {
  const id = UUID.test(text) ? text : parseTenantId(text)
  if (id === undefined) throw new UsageError('a tenant is named by its id, tnt_...')
  return id
}

export function readKeyId(text: string): string {
  const id = parseKeyId(text)
  if (id === undefined) throw new UsageError('a key is named by its id, key_...')
  return id
}

export function readScopes(text: string = EVERY_SCOPE): string[] {
  const wanted = text.split(',').map((scope) => scope.trim())
  const unknown = wanted.find((scope) => !grantableScopes.some((known) => known === scope))
  if (unknown !== undefined) throw new UsageError(`there is no scope ${JSON.stringify(unknown)}`)
  return [...new Set(wanted)]
}

/** A whole number up to `max`. */
export function readCount(option: OptionName, text: string | undefined, max: number): number {
  const count = /^\d{1,8}$/.test(text ?? '') ? Number(text) : Infinity
  if (count > max) throw new UsageError(`--${option} has to be a whole number, 0 to ${max}`)
  return count
}
