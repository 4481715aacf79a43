// Reads the parameters of a form or query string, whose values are strings, lists or nested
// objects. Refuses invalid values with Stripe's errors.
import { invalidParameter, missingParameter } from './stripe-errors.ts'

export type Parameters = Readonly<Record<string, unknown>>

/** An empty value counts as unset, as at Stripe. */
export function readString(params: Parameters, name: string): string | undefined {
  const value = params[name]
  if (value === undefined || value === '') return undefined
  if (typeof value !== 'string') throw invalidParameter(name, `Invalid string: ${name}`)
  return value
}

/** @throws StripeError `parameter_missing` when the parameter is unset. */
export function requireString(params: Parameters, name: string): string {
  const value = readString(params, name)
  if (value === undefined) throw missingParameter(name)
  return value
}

/** @throws StripeError `parameter_invalid_integer`, also for an unsafe integer. */
export function readInteger(params: Parameters, name: string): number | undefined {
  const value = readString(params, name)
  if (value === undefined) return undefined
  const integer = Number(value)
  if (!/^-?\d+$/.test(value) || !Number.isSafeInteger(integer)) {
    throw invalidParameter(name, `Invalid integer: ${value}`, 'parameter_invalid_integer')
  }
  return integer
}

/** Reads an amount in minor units, at least 1. */
export function readAmount(params: Parameters, name: string): number | undefined {
  const amount = readInteger(params, name)
  if (amount !== undefined && amount < 1) {
    const message = 'This value must be greater than or equal to 1.'
    throw invalidParameter(name, message, 'amount_too_small')
  }
  return amount
}

/** @throws StripeError `parameter_missing` when the amount is unset. */
export function requireAmount(params: Parameters, name: string): number {
  const amount = readAmount(params, name)
  if (amount === undefined) throw missingParameter(name)
  return amount
}

/** An unset parameter is false. */
export function readBoolean(params: Parameters, name: string): boolean {
  return readChoice(params, name, ['true', 'false']) === 'true'
}

/** @throws StripeError that lists the choices, when the value is none of them. */
export function readChoice<Choice extends string>(
  params: Parameters,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = readString(params, name)
  if (value === undefined) return undefined
  const choice = choices.find((candidate) => candidate === value)
  if (choice === undefined) {
    throw invalidParameter(name, `Invalid ${name}: must be one of ${choices.join(', ')}`)
  }
  return choice
}

/** Reads a list, sent as `name[0]=...` or `name[]=...`. */
export function readStrings(params: Parameters, name: string): string[] | undefined {
  const value = params[name]
  if (value === undefined || value === '') return undefined
  if (!Array.isArray(value)) {
    throw invalidParameter(name, 'Invalid array', 'parameter_invalid_array')
  }
  return value.map(String)
}

/** Reads `metadata`, sent as `metadata[key]=value`. An unset parameter is an empty object. */
export function readMetadata(params: Parameters): Record<string, string> {
  const entries = Object.entries(readObject(params, 'metadata'))
  if (entries.length > METADATA_MAX.keys) {
    const message = `Metadata can have at most ${METADATA_MAX.keys} keys.`
    throw invalidParameter('metadata', message)
  }
  for (const [key, entry] of entries) {
    const message =
      key.length > METADATA_MAX.keyLength
        ? `Metadata keys must be under ${METADATA_MAX.keyLength} characters.`
        : String(entry).length > METADATA_MAX.valueLength
          ? `Metadata values can have up to ${METADATA_MAX.valueLength} characters.`
          : undefined
    if (message !== undefined) throw invalidParameter(`metadata[${key}]`, message)
  }
  return Object.fromEntries(entries.map(([key, entry]) => [key, String(entry)]))
}

/** @see https://docs.stripe.com/api/metadata */
const METADATA_MAX = { keys: 50, keyLength: 40, valueLength: 500 }

/** Reads a hash, sent as `name[key]=value`. An unset parameter is an empty object. */
export function readObject(params: Parameters, name: string): Readonly<Record<string, unknown>> {
  const value = params[name] ?? {}
  if (value === '') return {}
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalidParameter(name, 'Invalid hash')
  }
  return value as Readonly<Record<string, unknown>>
}
