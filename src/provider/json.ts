// Checks members of a provider's answers, of which nothing is taken for granted.
import { isObjectId } from './provider-text.ts'

export type Json = Readonly<Record<string, unknown>>

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Seconds since 1970 that fit into a timestamp of Postgres. */
export function isInstant(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 36
}

/** The id that a member contains: as a plain id, or expanded to the whole object. */
export function namedId(member: unknown): string | null {
  const id = isJson(member) ? member['id'] : member
  return isObjectId(id) ? id : null
}

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/

export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value)
}
