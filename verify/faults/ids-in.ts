// Finds the ids in a text, to see which tenant they belong to. An id has several forms: clients see
// the UUID of a row with a prefix.
import { parseId, type IdPrefix } from '../../src/domain/resource-id.ts'

const UUID = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/g
/** Ids of the service and of the provider. */
const PREFIXED = /\b([a-z]{2,4})_[\dA-Za-z]{14,}\b/g

/** Returns each id as its UUID, if it has one. */
export function idsIn(text: string): string[] {
  const prefixed = Array.from(
    text.matchAll(PREFIXED),
    ([id, prefix]) => parseId(prefix as IdPrefix, id) ?? id,
  )
  return [...(text.match(UUID) ?? []), ...prefixed]
}
