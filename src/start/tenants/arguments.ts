// Reads the arguments of `npm run tenants`, strictly and before a connection is opened.
import { parseArgs } from 'node:util'
import { EVERY_SCOPE, grantableScopes, parseKeyId } from '../../domain/tenants/api-key.ts'
import { parseTenantId, TENANT_NAME, isProviderId } from '../../domain/tenants/tenant.ts'

/** The command line is not valid. */
export class UsageError extends Error {
  override name = 'UsageError'
}

const options = {
  scopes: { type: 'string' },
  'basis-points': { type: 'string' },
  fixed: { type: 'string' },
  'grace-hours': { type: 'string' },
  writes: { type: 'string' },
  reads: { type: 'string' },
  'active-keys': { type: 'string' },
  'stored-keys': { type: 'string' },
  'key-length': { type: 'string' },
  references: { type: 'string' },
  from: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

export type OptionName = keyof typeof options

export interface Given {
  /** The name or id on which the command works; empty when missing. */
  readonly subject: string
  /** The arguments after it. */
  readonly rest: readonly string[]
  readonly values: ReturnType<typeof parse>['values']
}

/** @throws UsageError for an unknown option, or an option without its value. */
export function readArguments(args: readonly string[]): Given & { readonly command: string } {
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
  throw new UsageError('a tenant name has 1 to 200 characters, without control characters')
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/** A UUID is accepted as well, because the log and the metrics show a tenant's UUID. */
export function readTenantId(text: string): string {
  const id = UUID.test(text) ? text : parseTenantId(text)
  if (id === undefined) throw new UsageError('expected a tenant id (tnt_...)')
  return id
}

export function readKeyId(text: string): string {
  const id = parseKeyId(text)
  if (id === undefined) throw new UsageError('expected an API key id (key_...)')
  return id
}

export function readCustomers(texts: readonly string[]): readonly string[] {
  const wrong = texts.find((text) => !isProviderId(text))
  if (wrong !== undefined) {
    throw new UsageError(`${JSON.stringify(wrong)} cannot be the id of a customer`)
  }
  return texts
}

export function readScopes(text: string = EVERY_SCOPE): string[] {
  const requested = text.split(',').map((scope) => scope.trim())
  const unknown = requested.find((scope) => !grantableScopes.some((known) => known === scope))
  if (unknown !== undefined) throw new UsageError(`unknown scope ${JSON.stringify(unknown)}`)
  return [...new Set(requested)]
}

/** Reads a whole number from 0 to `max`, or `default`, which gives null. */
export function readLimit(option: OptionName, text: string, max: number): number | null {
  if (text === 'default') return null
  if (/^\d{1,8}$/.test(text) && Number(text) <= max) return Number(text)
  throw new UsageError(`--${option} must be a whole number from 0 to ${max}, or default`)
}

/** Reads a whole number from 0 to `max`. */
export function readCount(option: OptionName, text: string | undefined, max: number): number {
  const count = /^\d{1,8}$/.test(text ?? '') ? Number(text) : Infinity
  if (count > max) throw new UsageError(`--${option} must be a whole number from 0 to ${max}`)
  return count
}
