// The ids that a text names, so that it can be seen whose they are. One has several forms: what clients see of a
// row is its UUID with a prefix.
import { TypeID } from 'typeid-js'

const UUID = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/g
/** Ours, and the provider's. */
const PREFIXED = /\b[a-z]{2,4}_[\dA-Za-z]{14,}\b/g

/** Each as its UUID, if it has one. */
export function idsIn(text: string): string[] {
  return [...(text.match(UUID) ?? []), ...(text.match(PREFIXED) ?? []).map(withoutPrefix)]
}

function withoutPrefix(id: string): string {
  try {
    return TypeID.fromString(id).toUUID()
  } catch {
    // It is none of ours.
    return id
  }
}
