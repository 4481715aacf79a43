// The ids that a text names, so that it can be seen whose they are. One has several forms: what clients see of a
// row is its UUID with a prefix.
import { parseId, type IdPrefix } from '../../src/domain/resource-id.ts'

const UUID = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/g
/** Ours, and the provider's. */
const PREFIXED = /\b([a-z]{2,4})_[\dA-Za-z]{14,}\b/g

/** Each as its UUID, if it has one. */
export function idsIn(text: string): string[] {
  const prefixed = Array.from(
    text.matchAll(PREFIXED),
    ([id, prefix]) => parseId(prefix as IdPrefix, id) ?? id,
  )
  return [...(text.match(UUID) ?? []), ...prefixed]
}
